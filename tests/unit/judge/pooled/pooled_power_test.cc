// SPDX-License-Identifier: Apache-2.0
// Faults whose single results pass, and that all results of a run show together. Each is held against the same
// implementation without it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "ops/attention/attention.h"
#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/pooled/pooled_case.h"

namespace assay::test {
namespace {

constexpr double kLog2E = 1.4426950408889634;

double KeepBits(double x, int bits, bool nearest) {
  if (x == 0) return 0;
  const int shift = bits - 1 - std::ilogb(x);
  const double scaled = std::ldexp(x, shift);
  return std::ldexp(nearest ? std::nearbyint(scaled) : std::trunc(scaled), -shift);
}

std::vector<double> KeepBits(std::vector<double> values, int bits, bool nearest) {
  for (double& x : values) x = KeepBits(x, bits, nearest);
  return values;
}

std::vector<Tensor> InputsOfBits(const PooledCase& c, int bits, bool nearest) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : c.inputs) {
    inputs.push_back(input.Clone());
    inputs.back().SetDoubles(KeepBits(input.ToDoubles(), bits, nearest));
  }
  return inputs;
}

std::vector<double> Attend(const PooledCase& c, const std::vector<Tensor>& inputs, double scale = 1) {
  std::vector<double> got;
  for (int64_t row = 0; row < AttentionArgs(c.problem).Rows(); ++row) {
    const auto y = RunAttentionRow(c.problem, inputs, row, c.contract, {.block = 16}, {.scale = scale});
    got.insert(got.end(), y.begin(), y.end());
  }
  return got;
}

std::vector<double> Multiply(const PooledCase& c, const std::vector<Tensor>& inputs) {
  return RunMatmul(c.problem, inputs, {}, ArithmeticOf(c.contract));
}

using Faulty = std::function<std::vector<double>(const PooledCase&)>;

struct Expected {
  const char* question;
  double answer, about;
};

// `form` with seeds from 0 on. What a single result shows already does not count, as in a run.
void ExpectFound(const std::string& form, const char* contract, int seeds, const Faulty& right, const Faulty& faulty,
                 const Expected& expected) {
  PooledRun with, without;
  for (int seed = 0; seed < seeds; ++seed) {
    const PooledCase c(fmt::format("{}/fill=normal/seed={}", form, seed), contract);
    const std::vector<double> got = faulty(c);
    if (Holds(c.Judge(got))) with.Add(c, got, "faulty");
    without.Add(c, right(c), "right");
  }
  const PooledAnswer found = with.ComputeAnswer(expected.question);
  fmt::print("{} {}: {} of {} results pass; {}; margin {:.2f}, without the fault {:.2f}\n", form, expected.question,
             with.results(), seeds, found.Text(), found.margin, without.ComputeAnswer(expected.question).margin);
  EXPECT_GE(2 * with.results(), static_cast<size_t>(seeds));
  EXPECT_TRUE(found.IsFinding()) << found.Text();
  EXPECT_NEAR(found.answer, expected.answer, expected.about) << found.Text();
  for (const PooledAnswer& answer : without.Answers()) EXPECT_LT(answer.margin, 0.7) << answer.Text();
}

TEST(PooledPower, OperandsOfTwentyBitsInLongSums) {
  const auto right = [](const PooledCase& c) { return Multiply(c, c.inputs); };
  const std::string form = "matmul/f32/m=24,n=32,k=600";
  ExpectFound(form, "acc=f32", 6, right, [](const PooledCase& c) { return Multiply(c, InputsOfBits(c, 20, true)); },
              {"operand_bits_4_a", -0.5, 0.25});
  ExpectFound(form, "acc=f32", 16, right, [](const PooledCase& c) { return Multiply(c, InputsOfBits(c, 22, false)); },
              {"operand_bits_2", 1, 0.3});
}

TEST(PooledPower, OperandsOfTwentyBitsInAttention) {
  ExpectFound(
      "attention/f32/b=1,h=2,l=33,s=65,d=24", "acc=f32;math=2", 6,
      [](const PooledCase& c) { return Attend(c, c.inputs); },
      [](const PooledCase& c) { return Attend(c, InputsOfBits(c, 20, false)); }, {"operand_bits_4_v", 1, 0.3});
}

TEST(PooledPower, OneOperandOfTwentyBitsInAttention) {
  const auto faulty = [](const PooledCase& c) {
    std::vector<Tensor> inputs = InputsOfBits(c, 20, true);
    for (size_t k = 1; k < inputs.size(); ++k) inputs[k] = c.inputs[k].Clone();
    return Attend(c, inputs);
  };
  ExpectFound("attention/f32/b=1,h=2,l=33,s=65,d=24", "acc=f32;math=2", 40,
              [](const PooledCase& c) { return Attend(c, c.inputs); }, faulty, {"operand_bits_4_q", -0.5, 0.3});
}

// With more outputs, a single result would show the fault by its last bits.
TEST(PooledPower, OutputsOfFewBits) {
  ExpectFound(
      "attention/f32/b=1,h=1,l=2,s=40,d=4", "acc=f32;math=2", 60,
      [](const PooledCase& c) { return Attend(c, c.inputs); },
      [](const PooledCase& c) { return KeepBits(Attend(c, c.inputs), 20, true); }, {"output_bits", 0.75, 0.25});
}

// The constant is log2 e, by which a kernel multiplies scores in addition to their scale.
TEST(PooledPower, FiveDigitsOfAConstantBehindNarrowOutputs) {
  const double off = 1.4427 / kLog2E;
  const auto right = [](const PooledCase& c) { return Attend(c, c.inputs); };
  const auto faulty = [off](const PooledCase& c) { return Attend(c, c.inputs, off); };
  const Expected expected{"constant_scale", off - 1, (off - 1) / 2};
  ExpectFound("attention/f16/b=1,h=1,l=16,s=40,d=16", "acc=f32;math=2", 50, right, faulty, expected);
  ExpectFound("attention/bf16/b=1,h=2,l=33,s=65,d=24", "acc=f32;math=2", 25, right, faulty, expected);
}

// Each row has a scale that is off, up and down in turns: nothing in the mean, and far less than a rounding.
TEST(PooledPower, ErrorsOfEitherSignBehindNarrowOutputs) {
  const auto faulty = [](const PooledCase& c) {
    std::vector<double> got;
    for (int64_t row = 0; row < AttentionArgs(c.problem).Rows(); ++row) {
      const auto y = RunAttentionRow(c.problem, c.inputs, row, c.contract, {.block = 16},
                                     {.scale = row % 2 == 0 ? 1 + 1e-5 : 1 - 1e-5});
      got.insert(got.end(), y.begin(), y.end());
    }
    return got;
  };
  ExpectFound("attention/bf16/b=1,h=1,l=8,s=40,d=16", "acc=f32;math=2", 150,
              [](const PooledCase& c) { return Attend(c, c.inputs); }, faulty, {"roundings", 4e-3, 3e-3});
}

// A common error of all results shows where rows share errors, too.
TEST(PooledPower, RowsThatAreAllTooSmall) {
  const auto faulty = [](const PooledCase& c) {
    std::vector<double> got = Attend(c, c.inputs);
    for (double& x : got) x *= 1 - 2e-6;
    return got;
  };
  ExpectFound("attention/f32/b=1,h=2,l=33,s=65,d=24", "acc=f32;math=2", 8,
              [](const PooledCase& c) { return Attend(c, c.inputs); }, faulty, {"factor", -2e-6, 5e-7});
}

TEST(PooledPower, ResultsThatAreAllTooLarge) {
  const auto right = [](const PooledCase& c) { return Multiply(c, c.inputs); };
  const auto faulty = [](const PooledCase& c) {
    std::vector<double> got = Multiply(c, c.inputs);
    for (double& x : got) x *= 1 + 2e-7;
    return got;
  };
  ExpectFound("matmul/f32/m=24,n=32,k=300", "acc=f32", 6, right, faulty, {"factor", 2e-7, 5e-8});
}

}  // namespace
}  // namespace assay::test
