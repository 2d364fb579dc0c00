// SPDX-License-Identifier: Apache-2.0
// softmax: golden values against MPFR, policies for rows without a maximum.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/metrics.h"
#include "ops/binding.h"
#include "ops/softmax/softmax.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/softmax.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

// |value - exact| of one row against the certified error. The largest term is left out of the sum: of a row like
// [0, -250] the 400 bits of 1 + exp(-250) do not hold enough of the logarithm.
void ExpectMatchesMpfr(const SoftmaxArgs& op, const Tensor& x, const Golden& golden, int64_t row) {
  Mpfr rest, term, y;
  int64_t largest = 0;
  for (int64_t k = 0; k < op.terms; ++k) {
    if (ValueAt(x, op.Offset(row, k)) > ValueAt(x, op.Offset(row, largest))) largest = k;
  }
  const double max = ValueAt(x, op.Offset(row, largest));
  const auto exponential = [&](int64_t k) {
    mpfr_set_d(term.x, ValueAt(x, op.Offset(row, k)), MPFR_RNDN);
    mpfr_sub_d(term.x, term.x, max, MPFR_RNDN);
    if (op.log) mpfr_set(y.x, term.x, MPFR_RNDN);
    mpfr_exp(term.x, term.x, MPFR_RNDN);
  };
  for (int64_t k = 0; k < op.terms; ++k) {
    exponential(k);
    if (k != largest) mpfr_add(rest.x, rest.x, term.x, MPFR_RNDN);
  }
  Mpfr total;
  mpfr_add_d(total.x, rest.x, 1, MPFR_RNDN);
  for (int64_t k = 0; k < op.terms; ++k) {
    exponential(k);
    if (op.log) {
      mpfr_log1p(term.x, rest.x, MPFR_RNDN);
      mpfr_sub(y.x, y.x, term.x, MPFR_RNDN);
    } else {
      mpfr_div(y.x, term.x, total.x, MPFR_RNDN);
    }
    const int64_t i = op.Offset(row, k);
    if (!std::isfinite(golden.value[i])) {
      EXPECT_EQ(y.Rounded(), golden.value[i]) << i;
      continue;
    }
    EXPECT_LE(y.DistanceFrom(golden.value[i], golden.value_lo.empty() ? 0 : golden.value_lo[i]), golden.error[i])
        << i << " value " << golden.value[i];
  }
}

TEST(SoftmaxGolden, MatchesMpfr) {
  uint64_t seed = 0;
  for (const char* dtypes : {"f64", "f32", "f16", "bf16"}) {
    for (const char* fill : kSoftmaxFills) {
      for (const char* attrs : {"shape=5x77", "shape=3x9x4,axis=1", "shape=40x3,axis=0,log=1", "shape=6x130,log=1"}) {
        for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
          const Problem problem = Bind(fmt::format("softmax/{}/{}/fill={}/seed={}", dtypes, attrs, fill, ++seed));
          SCOPED_TRACE(problem.spec.Id());
          const SoftmaxArgs op(problem);
          const std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
          const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, tier);
          for (int64_t row = 0; row < op.rows; ++row) {
            if (!std::isnan(golden.value[op.Offset(row, 0)])) ExpectMatchesMpfr(op, inputs[0], golden, row);
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

Golden GoldenOf(const Problem& problem, const std::vector<double>& x, Tier tier) {
  std::vector<Tensor> inputs;
  inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
  inputs[0].SetDoubles(x);
  return Op("softmax").ComputeGolden(problem, 0, inputs, tier);
}

// The logarithm of a probability near one is minus what the others have together. 2^-149: the least that planes of f32
// hold.
TEST(SoftmaxGolden, LogarithmsKeepTheirDigitsNearZero) {
  for (const char* dtype : {"f32", "f64"}) {
    const Problem problem = Bind(fmt::format("softmax/{}/shape=4x2,log=1/fill=normal/seed=0", dtype));
    const std::vector<double> below = {-1, -30, -40, -80};
    for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = GoldenOf(problem, {0, -1, -30, 0, 0, -40, -80, 0}, tier);
      for (int64_t row = 0; row < 4; ++row) {
        Mpfr exact;
        mpfr_set_d(exact.x, below[row], MPFR_RNDN);
        mpfr_exp(exact.x, exact.x, MPFR_RNDN);
        mpfr_log1p(exact.x, exact.x, MPFR_RNDN);
        mpfr_neg(exact.x, exact.x, MPFR_RNDN);
        const int64_t i = 2 * row + row % 2;
        const double error = exact.DistanceFrom(golden.value[i], golden.value_lo.empty() ? 0 : golden.value_lo[i]);
        EXPECT_LE(error, golden.error[i]) << row;
        EXPECT_LE(error, (tier == Tier::kFast ? 1e-15 : 1e-26) * -exact.Rounded()) << row;
        EXPECT_LE(golden.error[i], (tier == Tier::kFast ? 1e-13 : 1e-26) * -exact.Rounded() + 0x1p-149) << row;
      }
    }
  }
}

Golden LogSoftmaxOf(const Problem& problem, const std::vector<double>& x, Tier tier) {
  Tensor tensor(DType::kF64, problem.inputs[0].shape);
  tensor.SetDoubles(x);
  const Golden golden = SoftmaxGolden(problem, tensor, tier);
  ExpectMatchesMpfr(SoftmaxArgs(problem), tensor, golden, 0);
  return golden;
}

// A result is infinite only where it rounds to infinity, however x - m is formed.
TEST(SoftmaxGolden, LogarithmsOfDistancesThatNoDoubleHolds) {
  const Problem three = Bind("softmax/f64/shape=1x3,log=1/fill=normal/seed=0");
  const Problem two = Bind("softmax/f64/shape=1x2,log=1/fill=normal/seed=0");
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = LogSoftmaxOf(three, {1e308, -1e308, 0}, tier);
    EXPECT_EQ(golden.value, (std::vector<double>{0, -kInf, -1e308}));
    const DeclaredBound bound = BoundOf(three, golden, "f64;math=8");
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(Accepts(bound, golden, i, golden.value[static_cast<size_t>(i)])) << i;
      for (const double wrong : {kNaN, kInf, -5e307, -1.7e308})
        EXPECT_FALSE(Accepts(bound, golden, i, wrong)) << i << wrong;
    }
    for (const double a : {1e300, 4e307, 8.9e307, 8.98e307, 8.99e307, 9e307, 1.7e308, 1.7976931348623157e308}) {
      const Golden pair = LogSoftmaxOf(two, {a, -a}, tier);
      EXPECT_EQ(pair.value[1], -2 * a) << a;
      EXPECT_LT(pair.error[1], kInf) << a;
      const DeclaredBound of_pair = BoundOf(two, pair, "f64;math=8");
      EXPECT_TRUE(Accepts(of_pair, pair, 1, -2 * a)) << a;
      for (const double wrong : {kNaN, -0.9 * a, kInf}) EXPECT_FALSE(Accepts(of_pair, pair, 1, wrong)) << a << wrong;
    }
  }
}

// Rows of a million terms are as exact as short ones: both tiers agree, and say so.
TEST(SoftmaxGolden, LongRowsAreAsExactAsShortOnes) {
  for (const char* log : {"", ",log=1"}) {
    const Problem problem = Bind(fmt::format("softmax/f32/shape=1x1000003{}/fill=normal/seed=0", log));
    const std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
    const Golden fast = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast);
    const Golden wide = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    double worst = 0, certified = 0;
    for (int64_t i = 0; i < fast.size(); ++i) {
      const double error = std::abs((fast.value[i] - wide.value[i]) - wide.value_lo[i]);
      EXPECT_LE(error, fast.error[i] + wide.error[i]) << i;
      worst = std::max(worst, error / fast.magnitude[i]);
      certified = std::max(certified, fast.error[i] / fast.magnitude[i]);
    }
    EXPECT_LT(worst, 2e-15);
    EXPECT_LT(certified, 1e-14);
  }
}

TEST(SoftmaxGolden, RowsWithoutAMaximum) {
  const Problem problem = Bind("softmax/f32/shape=4x3/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kF32, Shape{4, 3});
  inputs[0].SetDoubles(std::vector<double>{-kInf, -kInf, -kInf, 1, kInf, 0, 1, NAN, 0, 0, -kInf, 0});
  const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(golden.value[i])) << i;
  EXPECT_EQ(golden.value[9], 0.5);
  EXPECT_EQ(golden.value[10], 0);
  const auto bound = [&](const char* contract) { return BoundOf(problem, golden, contract); };
  EXPECT_TRUE(bound("f32;masked=nan").value_where.empty());
  ASSERT_EQ(bound("f32;masked=zero").value_where.size(), 1u);
  EXPECT_EQ(bound("f32;masked=zero").value_where[0].value, 0);
  EXPECT_EQ((*bound("f32;masked=zero").value_where[0].plane)[2], 1);
  EXPECT_EQ((*bound("f32;masked=zero").value_where[0].plane)[3], 0);
  EXPECT_EQ(bound("f32;masked=any").At(golden, 0), kInf);
  // Both are NaN, which is wrong where the contract says zero; the worst element says so, and no NaN has a sign.
  Tensor got(DType::kF32, Shape{4, 3});
  got.SetDoubles(std::vector<double>{-NAN, -NAN, -NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0.5, 0, 0.5});
  const ErrorMetrics m = Measure(golden, bound("f32;masked=zero"), Declared("f32;masked=zero"), got, {});
  ASSERT_TRUE(m.nonfinite_example);
  EXPECT_EQ(m.nonfinite_example->decided, 0);
  EXPECT_FALSE(std::signbit(m.nonfinite_example->got));
  EXPECT_EQ(m.nonfinite_example->decided_by, "masked=zero");
  EXPECT_LT(bound("f32;masked=any").At(golden, 9), 1);
}

}  // namespace
}  // namespace assay::test
