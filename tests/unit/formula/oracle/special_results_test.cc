// SPDX-License-Identifier: Apache-2.0
// Which results of one element are right where orders, flushes or IEEE's special cases leave several, and that no
// others are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = 3.4028234663852886e38;  // of f32
constexpr double kSubnormal = 1e-40;                // subnormal in f32

// A case whose inputs are these numbers.
struct GivenTensors {
  GivenTensors(const std::string& id, const std::vector<std::vector<double>>& numbers, const char* declared,
               size_t number = 0)
      : problem(Bind(id)), output(number) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      inputs.emplace_back(problem.inputs[i].dtype, problem.inputs[i].shape).SetDoubles(numbers[i]);
    }
    golden = Op(problem.spec.op).ComputeGolden(problem, output, inputs, Tier::kFast);
    bound = BoundOf(problem, golden, declared, output);
  }
  // The results that are accepted for the element.
  std::vector<double> Taken(int64_t i, const std::vector<double>& results) const {
    std::vector<double> taken;
    for (const double y : results) {
      if (Accepts(bound, golden, i, RoundTo(FormatOf(problem.outputs[output].dtype), y))) taken.push_back(y);
    }
    return taken;
  }

  Problem problem;
  size_t output;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;
};

// The element takes `right`, and none of the others of these.
void ExpectTaken(const GivenTensors& of, int64_t i, const std::vector<double>& right) {
  std::vector<double> all = {kNotANumber, kInfinite, -kInfinite, kLargest, -kLargest, 7, -7, 1, -1, 0.25};
  all.insert(all.end(), right.begin(), right.end());
  for (const double y : all) {
    const auto is = [y](double x) { return x == y || (std::isnan(x) && std::isnan(y)); };
    const bool is_right = std::ranges::any_of(right, is);
    EXPECT_EQ(!of.Taken(i, {y}).empty(), is_right) << of.problem.spec.Id() << " takes " << y;
  }
}

constexpr const char* kPlain = "f32acc;math=4";
constexpr const char* kFlushing = "f32acc;math=4;ftz=all";

void ExpectPower(double x, double p, const char* declared, const std::vector<double>& right) {
  SCOPED_TRACE(fmt::format("{} to the power of {} by {}", x, p, declared));
  ExpectTaken(GivenTensors("pow/f32/n=1/fill=normal/seed=0", {{x}, {p}}, declared), 0, right);
}

// One pass over the row forms inf - inf. Rows without an infinity have no NaN, and no number is right in its place.
TEST(SpecialMeans, OfARowWithAnInfinityAreThatOrNan) {
  const std::vector<std::vector<double>> numbers = {
      {1, -kInfinite, 3, 4, kInfinite, 2, 3, 4, 1, 2, 3, 4}, {1, 1, 1, 1}, {0, 0, 0, 0}};
  const char* id = "layer_norm/f32/rows=3,n=4,stats=1/fill=normal/seed=0";
  for (const char* declared : {kPlain, "f32acc;math=4;alg=onepass"}) {
    const GivenTensors mean(id, numbers, declared, 1);
    ExpectTaken(mean, 0, {-kInfinite, kNotANumber});
    ExpectTaken(mean, 1, {kInfinite, kNotANumber});
    ExpectTaken(mean, 2, {2.5});
    for (int64_t i = 0; i < 8; ++i) ExpectTaken(GivenTensors(id, numbers, declared, 0), i, {kNotANumber});
    ExpectTaken(GivenTensors(id, numbers, declared, 2), 0, {kNotANumber});
  }
}

TEST(SpecialPowers, AreIeeesOrNaNByWayOfLogarithms) {
  ExpectPower(1, kNotANumber, kPlain, {1, kNotANumber});
  ExpectPower(kNotANumber, 0, kPlain, {1, kNotANumber});
  ExpectPower(kNotANumber, 2, kPlain, {kNotANumber});
  ExpectPower(2, kNotANumber, kPlain, {kNotANumber});
  ExpectPower(kNotANumber, kNotANumber, kPlain, {kNotANumber});
  ExpectPower(-2, 3, kPlain, {-8});
  ExpectPower(-2, 0.5, kPlain, {kNotANumber});
  ExpectPower(0, -1, kPlain, {kInfinite});
  ExpectPower(0, 0, kPlain, {1});
  ExpectPower(-1, kInfinite, kPlain, {1});
  ExpectPower(2, 200, kPlain, {kInfinite});
}

// The sign of a zero is free, as that of any operator's is.
TEST(SpecialPowers, OfBasesBelowZeroHaveTheSignThatTheExponentGives) {
  const std::vector<double> zeros = {0, -0.0};
  ExpectPower(-kInfinite, 3, kPlain, {-kInfinite});
  ExpectPower(-kInfinite, 4, kPlain, {kInfinite});
  ExpectPower(-kInfinite, -3, kPlain, zeros);
  ExpectPower(-kInfinite, -4, kPlain, zeros);
  ExpectPower(-0.0, -3, kPlain, {-kInfinite});
  ExpectPower(-0.0, -4, kPlain, {kInfinite});
  ExpectPower(-1, -kInfinite, kPlain, {1});
}

TEST(SpecialPowers, OfWhatIsFlushedOrRoundedAreThoseOfZeroAndOneToo) {
  ExpectPower(kNotANumber, kSubnormal, kFlushing, {1, kNotANumber});
  ExpectPower(kNotANumber, kSubnormal, kPlain, {kNotANumber});
  ExpectPower(1 + 0x1p-12, kNotANumber, "tf32;math=4", {1, kNotANumber});
  ExpectPower(0, kSubnormal, kFlushing, {0, 1});
  ExpectPower(0, kSubnormal, kPlain, {0});
  ExpectPower(kInfinite, kSubnormal, kFlushing, {kInfinite, 1});
  ExpectPower(-2, kSubnormal, kFlushing, {kNotANumber, 1});
  ExpectPower(kSubnormal, 0.5, kFlushing, {0, 1e-20});
}

// Two wrong kernels that agree with the right one where no base is negative.
TEST(SpecialPowers, OfNegativeNumbersAreInEveryFill) {
  for (const char* fill : {"normal", "special", "lognormal"}) {
    const Problem problem = Bind(fmt::format("pow/f32/n=1031/fill={}/seed=1", fill));
    const Operator& op = Op("pow");
    const std::vector<Tensor> inputs = op.MakeInputs(problem);
    const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, kPlain);
    int64_t of_magnitudes = 0, of_positive = 0;
    for (int64_t i = 0; i < golden.size(); ++i) {
      const float x = inputs[0].As<float>()[static_cast<size_t>(i)], p = inputs[1].As<float>()[static_cast<size_t>(i)];
      EXPECT_TRUE(Accepts(bound, golden, i, std::pow(x, p))) << problem.spec.Id() << " " << x << " " << p;
      of_magnitudes += Accepts(bound, golden, i, std::pow(std::fabs(x), p)) ? 0 : 1;
      of_positive += Accepts(bound, golden, i, x < 0 ? kNotANumber : std::pow(x, p)) ? 0 : 1;
    }
    if (std::string(fill) == "lognormal") continue;  // has no negative numbers
    EXPECT_GT(of_magnitudes, 20) << fill;
    EXPECT_GT(of_positive, 20) << fill;
  }
}

// (g s) u, g (s u), (g u) s, each of which has the product or overflows.
TEST(ProductsThatOverflow, AreTheProductOrInfinity) {
  const auto gated = [](double g, double u) {
    return GivenTensors("silu_and_mul/f32/rows=1,n=1/fill=normal/seed=0", {{g, u}}, kPlain);
  };
  ExpectTaken(gated(1e20, 1e19), 0, {kInfinite});
  ExpectTaken(gated(-80, 1e37), 0, {-kInfinite, -80 * 1e37 / (1 + std::exp(80.0))});
  ExpectTaken(gated(-80, 1e30), 0, {-80 * 1e30 / (1 + std::exp(80.0))});
  const GivenTensors norm("rms_norm/f32/rows=1,n=2,eps=1e-06/fill=normal/seed=0", {{1e10, 1e-3}, {3e38, 1}}, kPlain);
  ExpectTaken(norm, 0, {kInfinite});
}

TEST(Exponentials, ThatOverflowAreInfinite) {
  for (const double x : {88.75, 89.0, 200.0}) {
    ExpectTaken(GivenTensors("exp/f32/n=1/fill=normal/seed=0", {{x}}, kPlain), 0, {kInfinite});
  }
}

}  // namespace
}  // namespace assay::test
