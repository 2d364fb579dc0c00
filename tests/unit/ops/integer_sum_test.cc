// SPDX-License-Identifier: Apache-2.0
// Integer sums in float accumulators: exact while every order is, within the bound beyond, and never more than that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/reduce/reduce.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"
#include "tests/support/simulate/sums.h"

namespace assay::test {
namespace {

// All of |x| = 127, signs such that the sums of several orders differ: large partial sums on either side.
std::vector<Tensor> LargeInputs(const Problem& problem) {
  std::vector<Tensor> inputs;
  for (const Operand& operand : problem.inputs) {
    inputs.emplace_back(operand.dtype, operand.shape);
    std::vector<double> values(static_cast<size_t>(inputs.back().size()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 7 == 3 ? -126 : 127;
    inputs.back().SetDoubles(values);
  }
  return inputs;
}

std::vector<double> Run(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                        const Contract& contract) {
  const Arithmetic unit = ArithmeticOf(contract);
  if (problem.spec.op == "conv") return RunConv(problem, inputs, schedule, unit, Padding::kMultiplied);
  return problem.spec.op == "reduce" ? RunReduce(problem, inputs, schedule, unit)
                                     : RunMatmul(problem, inputs, schedule, unit);
}

struct Outcome {
  int wrong = 0;           // results of the simulation that are not the exact sum
  double closest = 0;      // largest |error| / bound
  bool exact = true;       // BoundModel::exact
  int64_t rounded_at = 0;  // elements whose bound is not zero
};

// Every schedule's result is accepted; one more than the bound is not.
Outcome Check(const std::string& id, const char* declaration, bool large) {
  SCOPED_TRACE(id + " " + declaration);
  const Problem problem = Bind(id);
  const Operator& op = Op(problem.spec.op);
  const Contract contract = Declared(declaration);
  const std::vector<Tensor> inputs = large ? LargeInputs(problem) : op.MakeInputs(problem);
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, contract);
  Outcome outcome{.exact = bound.exact};
  const auto limit = [&](int64_t i) { return bound.exact ? 0 : bound.At(golden, i); };
  for (const Schedule& schedule : AllSchedules(7)) {
    const std::vector<double> got = Run(problem, inputs, schedule, contract);
    for (int64_t i = 0; i < golden.size(); ++i) {
      EXPECT_TRUE(Accepts(bound, golden, i, got[i])) << i << ": " << got[i] << " for " << golden.value[i];
      outcome.wrong += got[i] != golden.value[i];
      if (limit(i) > 0) outcome.closest = std::max(outcome.closest, std::abs(got[i] - golden.value[i]) / limit(i));
    }
  }
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double planted = golden.value[i] + std::floor(limit(i) * (1 + 0x1p-40)) + 1;
    EXPECT_FALSE(Accepts(bound, golden, i, planted)) << i << ": " << planted << " for " << golden.value[i];
    outcome.rounded_at += limit(i) > 0;
  }
  return outcome;
}

TEST(IntegerSums, AreExactWhereTheAccumulatorHoldsThem) {
  for (const char* id : {"matmul/i8-i8-i32/m=3,n=4,k=64,batch=2/fill=uniform/seed=1",
                         "reduce/i8-i32/shape=3x50,axes=1/fill=uniform/seed=1",
                         "conv/i8-i8-i32/n=1,c=4,o=3,i=6x6,k=3x3,pad=1/fill=uniform/seed=1"}) {
    for (const char* contract : {"acc=i32", "f32acc", "acc=f64", "in=bf16;acc=f32", "acc=tc<24,8>"}) {
      const Outcome outcome = Check(id, contract, false);
      EXPECT_TRUE(outcome.exact) << id << " " << contract;
      EXPECT_EQ(outcome.wrong, 0);
    }
  }
}

// 127^2 * 2049 is beyond 2^24.
TEST(IntegerSums, AreBoundedWhereAFloatAccumulatorRounds) {
  for (const char* id : {"matmul/i8-i8-i32/m=2,n=3,k=2049/fill=uniform/seed=1",
                         "conv/i8-i8-i32/n=1,c=300,o=2,i=5x5,k=3x3,pad=1/fill=uniform/seed=1"}) {
    const Outcome outcome = Check(id, "f32acc", true);
    EXPECT_FALSE(outcome.exact);
    EXPECT_GT(outcome.wrong, 0) << "the data must make some order round";
    EXPECT_GT(outcome.closest, 0);
    EXPECT_TRUE(Check(id, "acc=i32", true).exact);
    EXPECT_TRUE(Check(id, "acc=f64", true).exact);
  }
  const Outcome narrow = Check("reduce/i8-i32/shape=4x200,axes=1/fill=uniform/seed=1", "bf16acc", true);
  EXPECT_GT(narrow.wrong, 0);
  EXPECT_EQ(narrow.rounded_at, 4);
  const Outcome half = Check("reduce/i8-i32/shape=2x200,axes=1/fill=uniform/seed=1", "f16acc", true);
  EXPECT_GT(half.wrong, 0);
}

TEST(IntegerSums, MeetIntegerAccumulationOnlyByDeclaringIt) {
  const Contract required = ParseRequirement("acc=i32;mid=none").value();
  EXPECT_TRUE(Meets(Declared("acc=i32"), required));
  EXPECT_FALSE(Meets(Declared("f32acc"), required));
  EXPECT_FALSE(Meets(Declared("acc=f64"), required));
}

// One row of large terms beside one of small ones: only that one may round.
TEST(IntegerSums, AreBoundedElementByElement) {
  const Problem problem = Bind("reduce/i8-i32/shape=2x16,axes=1/fill=uniform/seed=1");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kI8, problem.inputs[0].shape);
  std::vector<double> x(32, 16);  // 256 = 2^8: bf16 holds every partial sum
  std::fill(x.begin() + 16, x.end(), 17);
  inputs[0].SetDoubles(x);
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "bf16acc");
  EXPECT_EQ(bound.At(golden, 0), 0);
  EXPECT_FALSE(Accepts(bound, golden, 0, 257));
  EXPECT_GT(bound.At(golden, 1), 1);
  EXPECT_TRUE(Accepts(bound, golden, 1, 273));
}

// Beyond the output's range, or an accumulator's, a conversion gives the machine's limit: that, and nothing else.
TEST(IntegerSums, MayEndAtTheLimitsWhereTheAccumulatorOverflows) {
  const Problem problem = Bind("reduce/i8-i32/shape=2x600,axes=1/fill=uniform/seed=1");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kI8, problem.inputs[0].shape);
  std::vector<double> x(1200, 127);  // 76,200
  std::fill(x.begin() + 600, x.end(), 10);
  inputs[0].SetDoubles(x);
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "f16acc");
  EXPECT_TRUE(bound.IsAlsoRight(0, DType::kI32, golden.value[0], 0x1p31 - 1));
  EXPECT_TRUE(bound.IsAlsoRight(0, DType::kI32, golden.value[0], -0x1p31));
  EXPECT_FALSE(bound.IsAlsoRight(0, DType::kI32, golden.value[0], 0x1p30));
  EXPECT_FALSE(bound.IsAlsoRight(1, DType::kI32, golden.value[1], 0x1p31 - 1)) << "6,000 overflows nowhere";
}

// Terms are read in stretches of 2^16, of which threads take 16 at a time.
TEST(ReduceInStretches, SumsProductsAndPlacesOfLongRowsAreThoseOfAllTerms) {
  constexpr int64_t kTerms = 2'500'000;
  for (const char* axes : {"1", "0"}) {
    const std::string shape = axes[0] == '1' ? fmt::format("2x{}", kTerms) : fmt::format("{}x2", kTerms);
    const auto bind = [&](const char* types, const char* kind) {
      return Bind(fmt::format("reduce/{}/shape={},axes={},kind={}/fill=normal/seed=0", types, shape, axes, kind));
    };
    const auto at = [&](int64_t row, int64_t k) { return axes[0] == '1' ? row * kTerms + k : k * 2 + row; };
    Tensor x(DType::kI8, bind("i8-i64", "sum").inputs[0].shape);
    const std::span<int8_t> terms = x.As<int8_t>();
    std::ranges::fill(terms, 1);
    terms[at(0, kTerms - 1)] = -3, terms[at(1, 70'000)] = 5, terms[at(1, 1'200'000)] = 5;
    const auto results = [&](const char* types, const char* kind) {
      return Op("reduce").ComputeGolden(bind(types, kind), 0, {&x, 1}, Tier::kFast).value;
    };
    EXPECT_EQ(results("i8-i64", "sum"), (std::vector<double>{kTerms - 4, kTerms + 8}));
    EXPECT_EQ(results("i8-i64", "prod"), (std::vector<double>{-3, 25}));
    EXPECT_EQ(results("i8-i64", "argmax"), (std::vector<double>{0, 70'000}));
    EXPECT_EQ(results("i8-i64", "argmin"), (std::vector<double>{kTerms - 1, 0}));
    const std::vector<int64_t> elements = {1};
    const std::vector<double> places = {0, 70'000};
    const Problem largest = bind("i8-i64", "argmax"), product = bind("i8-i64", "prod");
    const auto second = Op("reduce").OmittedTerms(largest, 0, {&x, 1}, places, elements);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].value, 1'200'000);
    EXPECT_TRUE(ReducesInStretches(product) && ReducesInStretches(largest));
    EXPECT_FALSE(ReducesInStretches(Bind("reduce/f32/shape=2x9,axes=1/fill=normal/seed=0")));
  }
}

}  // namespace
}  // namespace assay::test
