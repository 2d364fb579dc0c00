// SPDX-License-Identifier: Apache-2.0
// softmax: hard bounds against legal schedules, twins, omitted terms.
#include "ops/softmax/softmax.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "harness/judge/metrics.h"
#include "ops/binding.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/softmax.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

// Rounds to the nearest number of 12 bits, or cuts off to 12.
double Of12Bits(double x, bool cuts) {
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(x, &exponent), 12);
  return std::ldexp(cuts ? std::trunc(scaled) : std::rint(scaled), exponent - 12);
}

// How many rows' logarithms are refused with exponentials of 12 bits.
int64_t RefusedWith12Bits(const std::string& id, bool cuts) {
  const Problem problem = Bind(id);
  const SoftmaxArgs op(problem);
  const std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
  const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "acc=f32;math=4");
  int64_t refused = 0;
  for (int64_t row = 0; row < op.rows; ++row) {
    double max = -kInf, total = 0;
    for (int64_t k = 0; k < op.terms; ++k) max = std::max(max, ValueAt(inputs[0], op.Offset(row, k)));
    for (int64_t k = 0; k < op.terms; ++k) {
      total += Of12Bits(std::exp(ValueAt(inputs[0], op.Offset(row, k)) - max), cuts);
    }
    const int64_t i = op.Offset(row, 0);
    const auto got = static_cast<float>(ValueAt(inputs[0], i) - max - std::log(total));
    refused += Accepts(bound, golden, i, got) ? 0 : 1;
  }
  return refused;
}

// Relative errors of positive terms do not add up: the logarithm of their sum has that of one exponential, and a
// rescaling where the maximum rises. Errors of cutting off to 12 bits lie to one side, in every row; those of rounding
// to nearest average out, and stay within the cost of the additions of longer rows.
TEST(SoftmaxBound, LogarithmsHaveTheErrorOfOneExponential) {
  for (int seed = 0; seed < 8; ++seed) {
    for (const char* shape : {"32x32", "32x128", "32x512"}) {
      const std::string id = fmt::format("softmax/f32/shape={},log=1/fill=normal/seed={}", shape, seed);
      EXPECT_EQ(RefusedWith12Bits(id, true), 32) << id;
    }
    const std::string nearest = fmt::format("softmax/f32/shape=32x32,log=1/fill=normal/seed={}", seed);
    EXPECT_GT(RefusedWith12Bits(nearest, false), 4) << nearest;
  }
}

// Sizes whose sum no double holds: an A that is no number would refuse whatever comes.
TEST(SoftmaxBound, LogarithmsOfTheSmallestDoubleAreBounded) {
  const Problem problem = Bind("softmax/f64/shape=1x3,log=1/fill=normal/seed=0");
  const double lowest = std::numeric_limits<double>::lowest();
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kF64, Shape{1, 3});
  inputs[0].SetDoubles(std::vector<double>{lowest, 0, 1});
  const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const DeclaredBound bound = BoundOf(problem, golden, "f64;math=1");
  EXPECT_LT(JudgeBy(bound, golden).Accumulated(0), 1e300);
  EXPECT_TRUE(Accepts(bound, golden, 0, lowest));
  EXPECT_FALSE(Accepts(bound, golden, 0, lowest / 2));
}

void CheckBound(const std::string& id, const char* declaration, double& closest, int& pushed) {
  SCOPED_TRACE(id + " " + declaration);
  const Problem problem = Bind(id);
  const SoftmaxArgs op(problem);
  const Contract contract = Declared(declaration);
  const std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
  const Tier tier = problem.spec.seed % 2 == 0 ? Tier::kFast : Tier::kReproducible;
  const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, tier);
  const DeclaredBound bound = BoundOf(problem, golden, contract);
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  for (int64_t row = 0; row < op.rows; ++row) {
    std::vector<double> x(static_cast<size_t>(op.terms));
    for (int64_t k = 0; k < op.terms; ++k) x[k] = ValueAt(inputs[0], op.Offset(row, k));
    if (std::isnan(golden.value[op.Offset(row, 0)])) continue;
    for (const SoftmaxForm& form : AllSoftmaxForms(problem.spec.seed)) {
      const std::vector<double> got = RunSoftmaxRow(problem, x, contract, form);
      for (int64_t k = 0; k < op.terms; ++k) {
        const int64_t i = op.Offset(row, k);
        ASSERT_TRUE(Accepts(bound, golden, i, got[k]))
            << "order " << static_cast<int>(form.schedule.order) << " bias " << static_cast<int>(form.bias) << " block "
            << form.block << " element " << i << ": " << got[k] << " for " << golden.value[i] << " within "
            << bound.LargestToleranceAt(golden, i);
        const double limit = bound.LargestToleranceAt(golden, i), error = std::abs(got[k] - golden.value[i]);
        if (std::isfinite(error) && limit > 0) closest = std::max(closest, error / limit);
      }
    }
    for (int64_t k = 0; k < op.terms; ++k) {
      const int64_t i = op.Offset(row, k);
      const double y = golden.value[i], limit = bound.LargestToleranceAt(golden, i);
      if (contract.ftz == Flush::kNone) {
        ASSERT_TRUE(Accepts(bound, golden, i, RoundTo(format, y)));
      }
      const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
      const double beyond = HeldBeyond(problem.outputs[0].dtype, y, y + 1.05 * limit);
      if (!std::isfinite(beyond) || !((beyond - y) - lo > 1.01 * limit)) continue;
      ASSERT_FALSE(Accepts(bound, golden, i, beyond)) << i;
      ++pushed;
    }
  }
}

TEST(SoftmaxBound, HoldsForEveryFormFillAndType) {
  struct TypeCase {
    const char* dtype;
    std::vector<const char*> contracts;
  };
  const std::vector<TypeCase> types = {
      {"f64", {"acc=f64;math=1"}},
      {"f32", {"acc=f32;math=1", "acc=f32;math=3", "acc=f32;ftz=all;math=2", "acc=f32;mid=bf16;math=1"}},
      {"f16", {"acc=f32;math=2", "acc=f16;math=1", "acc=f16;ftz=all;math=2"}},
      {"bf16", {"acc=f32;math=1", "acc=bf16;math=1", "acc=f32;ftz=all;math=3"}}};
  double closest = 0;
  int pushed = 0;
  uint64_t seed = 0;
  for (const TypeCase& type : types) {
    for (const char* contract : type.contracts) {
      for (const char* fill : kSoftmaxFills) {
        for (const char* attrs : {"shape=4x1", "shape=4x2", "shape=4x37", "shape=3x130", "shape=4x37,log=1"}) {
          CheckBound(fmt::format("softmax/{}/{}/fill={}/seed={}", type.dtype, attrs, fill, seed++), contract, closest,
                     pushed);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(pushed, 1000);
  EXPECT_GT(closest, 0.3);
}

// Kernels that flush all results: exponentials as 2^(k - 1) times 2 f, kept and rescaled when the maximum
// is known, as often as `maxima` says; divided or multiplied by a reciprocal.
double FlushingSoftmax(const std::vector<double>& x, size_t at, int maxima, bool reciprocal) {
  const auto flush = [](double value) {
    const auto rounded = static_cast<double>(static_cast<float>(value));
    return rounded < FormatOf(DType::kF32).MinNormal() ? 0.0 : rounded;
  };
  const auto exponential = [&](double t) {
    const double k = std::floor(t / std::numbers::ln2);
    return flush(flush(std::exp2(k - 1)) * 2 * std::exp(t - k * std::numbers::ln2));
  };
  const double max = *std::ranges::max_element(x);
  double total = 0;
  for (const double value : x) total = flush(total + exponential(value - max));
  double e = exponential((x[at] - max) / maxima);
  for (int step = 1; step < maxima; ++step) e = flush(e * exponential((x[at] - max) / maxima));
  return flush(reciprocal ? e * flush(1 / total) : e / total);
}

TEST(SoftmaxBound, HoldsForEveryFlushAndNoMore) {
  const double normal = FormatOf(DType::kF32).MinNormal();
  const Problem problem = Bind("softmax/f32/shape=1x3/fill=normal/seed=0");
  double most = 0;
  int lost = 0, seen = 0;
  for (int step = 0; step < 400; ++step) {
    const auto x0 = static_cast<float>(std::log(normal) - 1 + 0.01 * step);
    std::vector<Tensor> inputs;
    inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
    for (const double other : {-100.0, -0.5, 0.0}) {
      const std::vector<double> x = {x0, 0, other};
      inputs[0].SetDoubles(x);
      const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
      const DeclaredBound bound = BoundOf(problem, golden, "acc=f32;ftz=out;math=4");
      for (const int maxima : {1, 2, 3}) {
        for (const bool reciprocal : {false, true}) {
          const double got = FlushingSoftmax(x, 0, maxima, reciprocal);
          ASSERT_TRUE(Accepts(bound, golden, 0, got)) << x0 << " " << other << " " << got << " " << golden.value[0];
          if (got == 0) most = std::max(most, golden.value[0] / normal), ++lost;
        }
      }
      if (golden.value[0] < 3.5 * normal) continue;
      EXPECT_FALSE(Accepts(bound, golden, 0, 0)) << golden.value[0] / normal;
      ++seen;
    }
  }
  EXPECT_GT(most, 1.9);
  EXPECT_GT(lost, 500);
  EXPECT_GT(seen, 100);
}

// Ones are stored exactly: one rounding of the quotient to bf16 and one of the output leave room for 16 terms.
TEST(SoftmaxTwin, StoredPartialResultsCostItOneRounding) {
  const Problem problem = Bind("softmax/bf16/shape=2x128/fill=normal/seed=0");
  const auto twin = Op("softmax").MakeTwin(problem, 0, Declared("acc=f32;mid=bf16;math=4"), 0);
  ASSERT_TRUE(twin);
  const std::vector<double> x = twin->inputs[0].ToDoubles();
  EXPECT_EQ(std::ranges::count(x, 0.0), 2 * 16);
}

TEST(SoftmaxTwin, LegalFormsPassAndFaultsAreSeen) {
  int made = 0;
  for (const char* declaration : {"acc=f32", "acc=f32;math=1", "acc=f32;math=4", "acc=f64;math=1", "acc=f16;math=1",
                                  "acc=f32;mid=bf16;math=4", "acc=f32;mid=f16;math=4"}) {
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      for (const char* attrs :
           {"shape=3x1", "shape=3x2", "shape=3x64", "shape=2x100", "shape=2x1000", "shape=2x64,log=1"}) {
        const Problem problem = Bind(fmt::format("softmax/{}/{}/fill=normal/seed=0", dtype, attrs));
        const Contract contract = Declared(declaration);
        if (contract.AccUnitRoundoff() > FormatOf(problem.outputs[0].dtype).UnitRoundoff()) continue;
        SCOPED_TRACE(problem.spec.Id() + " " + declaration);
        const SoftmaxArgs op(problem);
        const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
        for (int variant : {0, 1}) {
          const auto twin = Op("softmax").MakeTwin(problem, 0, contract, variant);
          if (!twin) continue;
          ++made;
          for (int64_t row = 0; row < op.rows; ++row) {
            std::vector<double> x(static_cast<size_t>(op.terms));
            for (int64_t k = 0; k < op.terms; ++k) x[k] = ValueAt(twin->inputs[0], op.Offset(row, k));
            const auto accepted = [&](const std::vector<double>& got) {
              for (int64_t k = 0; k < op.terms; ++k) {
                if (!Accepts(*twin, problem.outputs[0].dtype, op.Offset(row, k), got[k])) return false;
              }
              return true;
            };
            for (const SoftmaxForm& form : AllSoftmaxForms(3))
              ASSERT_TRUE(accepted(RunSoftmaxRow(problem, x, contract, form)));
            // A term that never reaches the sum.
            const double visible = static_cast<double>(std::ranges::count(x, 0.0));
            std::vector<double> wrong(x.size());
            for (size_t k = 0; k < x.size(); ++k) {
              const double share = op.log ? -std::log(visible - 1) : 1 / (visible - 1);
              wrong[k] = x[k] == 0 ? RoundTo(format, share) : op.log ? -kInf : 0;
            }
            ASSERT_FALSE(accepted(wrong));
          }
        }
      }
    }
  }
  EXPECT_GT(made, 100);
}

TEST(SoftmaxOmitted, DividesByTheSumWithoutTheTerm) {
  for (const char* attrs : {"shape=3x20", "shape=3x20,log=1", "shape=20x3,axis=0"}) {
    const Problem problem = Bind(fmt::format("softmax/f32/{}/fill=normal/seed=4", attrs));
    const SoftmaxArgs op(problem);
    const std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
    const std::vector<double> values = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast).value;
    std::vector<int64_t> outputs(values.size());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = static_cast<int64_t>(i);
    const auto mutants = Op("softmax").OmittedTerms(problem, 0, inputs, values, outputs);
    ASSERT_GT(mutants.size(), 30u);
    for (const Mutant& mutant : mutants) {
      const int64_t row = mutant.key / op.terms, omitted = mutant.key % op.terms;
      EXPECT_EQ(op.RowOf(mutant.index), row);
      double total = 0;
      for (int64_t k = 0; k < op.terms; ++k) {
        if (k != omitted) total += std::exp(ValueAt(inputs[0], op.Offset(row, k)));
      }
      const double x = ValueAt(inputs[0], mutant.index);
      EXPECT_NEAR(mutant.value, op.log ? x - std::log(total) : std::exp(x) / total, 1e-12);
    }
  }
}

}  // namespace
}  // namespace assay::test
