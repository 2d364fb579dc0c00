// SPDX-License-Identifier: Apache-2.0
// Functions of Map nodes: values against 400 bits, and slopes with rests against what the function really does.
#include "ops/formula/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/core/data/fill/rng.h"
#include "tests/support/formula/exact.h"
#include "tests/support/full.h"

namespace assay::formula {
namespace {

using test::ExactMap;
using test::Real;

constexpr Function kUnary[] = {Function::kSqrt,  Function::kRsqrt, Function::kExp,          Function::kLog,
                               Function::kLog1p, Function::kTanh,  Function::kErf,          Function::kSigmoid,
                               Function::kSin,   Function::kCos,   Function::kOneMinusTanh, Function::kOneMinusErf,
                               Function::kExp2,  Function::kExpm1, Function::kLog2,         Function::kLog10,
                               Function::kErfc,  Function::kTan,   Function::kAsin,         Function::kAcos,
                               Function::kAtan,  Function::kSinh,  Function::kCosh,         Function::kAsinh,
                               Function::kAcosh, Function::kAtanh, Function::kCbrt};

// The open interval on which the function is defined, and large enough that its results stay in the range.
struct Interval {
  double low, high;
};
Interval DomainOf(Function function) {
  switch (function) {
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kLog:
    case Function::kLog2:
    case Function::kLog10:
      return {0, HUGE_VAL};
    case Function::kLog1p:
      return {-1, HUGE_VAL};
    case Function::kAcosh:
      return {1, HUGE_VAL};
    case Function::kAsin:
    case Function::kAcos:
    case Function::kAtanh:
      return {-1, 1};
    case Function::kExp:
    case Function::kExp2:
    case Function::kExpm1:
    case Function::kSinh:
    case Function::kCosh:
      return {-700, 700};
    default:
      return {-HUGE_VAL, HUGE_VAL};
  }
}

// Numbers of every size on which the function is defined.
std::vector<double> Samples(Function function) {
  std::vector<double> x;
  const RandomStream random(17, static_cast<uint64_t>(function));
  for (uint64_t i = 0; i < 400; ++i) {
    const double mantissa = 1 + static_cast<double>(random.Below(2 * i, 1u << 30)) * 0x1p-30;
    const double value = std::ldexp(mantissa, static_cast<int>(random.Below(2 * i + 1, 50)) - 40);
    x.push_back(DomainOf(function).low >= 0 || i % 2 == 0 ? value : -value);
  }
  const bool has_period = function == Function::kSin || function == Function::kCos || function == Function::kTan;
  for (const double value :
       {0x1p1000, 1e22, -0x1.921fb54442d18p+1, 0x1.921fb54442d18p+0}) {  // the last two: near zeros
    if (has_period) x.push_back(value);
  }
  for (const double value : {0.9999, 1.0001, 0.5, 2.0, 6.5, 20.0}) x.push_back(value);
  const auto [low, high] = DomainOf(function);
  std::erase_if(x, [=](double value) { return !(low < value && value < high); });
  return x;
}

TEST(FormulaFunctions, ValuesAreWithinTheirStatedErrors) {
  for (const Function function : kUnary) {
    const std::vector<double> x = Samples(function);
    const auto n = static_cast<int64_t>(x.size());
    std::vector<double> zero(x.size()), z(x.size()), hi(x.size()), lo(x.size());
    MapValues(function, {x.data()}, z.data(), n);
    MapValuesDD(function, {x.data()}, {zero.data()}, hi.data(), lo.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      const Real at = x[i];
      const Real* operand = &at;
      const Real exact = ExactMap(function, {&operand, 1});
      const double size = std::fabs(exact.Rounded());
      if (size < 0x1p-900) continue;
      EXPECT_LE(exact.DistanceFrom(z[i], 0), size * MapErrorDouble(function)) << Info(function).name << " " << x[i];
      const bool logarithm = function == Function::kLog || function == Function::kLog1p ||
                             function == Function::kLog2 || function == Function::kLog10;
      EXPECT_LE(exact.DistanceFrom(hi[i], lo[i]), size * MapErrorDD(function) + (logarithm ? 0x1p-92 : 0))
          << Info(function).name << " " << x[i];
    }
  }
}

// Where an argument has digits below its double, which near a zero of sine or cosine are all that there is.
TEST(FormulaFunctions, FunctionsOfTwoNumbersAreWithinTheirStatedErrors) {
  const RandomStream random(17, 99);
  uint64_t draw = 0;
  const auto number = [&](int least, uint64_t binades) {
    const double mantissa = 1 + static_cast<double>(random.Below(draw++, 1u << 30)) * 0x1p-30;
    return std::ldexp(mantissa, least + static_cast<int>(random.Below(draw++, binades)));
  };
  for (int i = 0; i < 400; ++i) {
    const double hi = number(-20, 40), lo = hi * 0x1p-54 * (i % 3 - 1);
    const double y = (i % 2 == 0 ? 1 : -1) * number(-6, 9), zero = 0;
    if (std::fabs(y * std::log(hi)) > 650) continue;
    Real x = hi;
    mpfr_add_d(x.x, x.x, lo, MPFR_RNDN);
    const Real p = y;
    const Real* operands[] = {&x, &p};
    for (const Function function : {Function::kPow, Function::kSin, Function::kCos, Function::kTan}) {
      double z_hi = 0, z_lo = 0;
      MapValuesDD(function, {&hi, &y}, {&lo, &zero}, &z_hi, &z_lo, 1);
      const Real exact = ExactMap(function, {operands, function == Function::kPow ? size_t{2} : size_t{1}});
      EXPECT_LE(exact.DistanceFrom(z_hi, z_lo), std::fabs(exact.Rounded()) * MapErrorDD(function))
          << Info(function).name << " " << hi << " " << y;
    }
  }
}

TEST(FormulaFunctions, PowersMoveByNoMoreThanTheirSlopesSay) {
  for (const double x : {0.01, 0.7, 1.0, 3.0, 1e6}) {
    for (const double y : {-3.0, -0.5, 0.0, 2.0, 7.5}) {
      for (const double share : {0.0, 1e-9, 0.01, 0.5}) {
        const double reach_x = share * x, reach_y = share, z = std::pow(x, y);
        double slopes[2] = {}, curve = 0, amplify = 0;
        MapSlopes(Function::kPow, {&x, &y}, {&reach_x, &reach_y}, &z, 0, {{&slopes[0], &slopes[1]}, &curve, &amplify},
                  1);
        double farthest = 0;
        for (const double a : {-reach_x, 0.0, reach_x}) {
          for (const double b : {-reach_y, 0.0, reach_y})
            farthest = std::max(farthest, std::fabs(std::pow(x + a, y + b) - z));
        }
        EXPECT_LE(farthest, curve + 64 * 0x1p-52 * z) << x << " " << y << " " << share;
        EXPECT_LE(curve, 20 * farthest + 1e-6 * z) << x << " " << y << " " << share;
      }
    }
  }
}

// Further down neither low parts nor residues have room beside their numbers.
TEST(FormulaFunctions, RootsAndQuotientsOfTheSmallestNumbers) {
  for (int exponent = -1074; exponent < -800; ++exponent) {
    const double x = std::ldexp(1 + 0.3 * (exponent > -1060 ? 1 : 0), exponent), y = std::ldexp(1.7, exponent + 9);
    for (const Function function : {Function::kSqrt, Function::kRsqrt, Function::kDiv}) {
      const double zero = 0;
      double hi = 0, lo = 0;
      MapValuesDD(function, {&x, &y}, {&zero, &zero}, &hi, &lo, 1);
      const Real at[] = {x, y};
      const Real* operands[] = {&at[0], &at[1]};
      const Real exact = ExactMap(function, {operands, function == Function::kDiv ? size_t{2} : size_t{1}});
      EXPECT_LE(exact.DistanceFrom(hi, lo), std::fabs(exact.Rounded()) * MapErrorDD(function))
          << Info(function).name << " " << x;
    }
  }
}

// f(x + e) - f(x) = slope e + at most curve, for errors of every size that leave something to say.
TEST(FormulaFunctions, RestsHoldForErrorsOfEverySize) {
  for (const Function function : kUnary) {
    const std::vector<double> x = Samples(function);
    for (const double share : {1e-12, 1e-6, 1e-3, 0.1, 0.7, 3.0}) {
      for (size_t i = 0; i < x.size(); i += test::kIsFull ? 1 : 3) {
        const double reach = std::fabs(x[i]) * share;
        double z = 0, slope = 0, curve = 0, amplify = 0;
        MapValues(function, {&x[i]}, &z, 1);
        MapSlopes(function, {&x[i]}, {&reach}, &z, -1, {{&slope}, &curve, &amplify}, 1);
        if (!std::isfinite(curve)) continue;
        const Real exact_x = x[i];
        const Real* operand = &exact_x;
        const Real at = ExactMap(function, {&operand, 1});
        for (const double e : {-reach, -reach / 2, reach / 3, reach}) {
          Real moved = x[i];
          mpfr_add_d(moved.x, moved.x, e, MPFR_RNDN);
          operand = &moved;
          Real change = ExactMap(function, {&operand, 1});
          mpfr_sub(change.x, change.x, at.x, MPFR_RNDN);
          const double linear = std::fabs(slope * e), rest = change.DistanceFrom(slope * e, 0);
          EXPECT_LE(rest, curve * (1 + 1e-9) + linear * 0x1p-47 + 0x1p-390)  // the witness has 400 bits
              << Info(function).name << "(" << x[i] << " + " << e << ")";
        }
      }
    }
  }
}

// However far off an argument is that is saturated all the same, the result is hardly: the error of 0.0357 x^3, say, of
// which gelu takes the tanh, is large where x is.
TEST(FormulaFunctions, NothingIsLeftWhereAFunctionIsSaturated) {
  for (const Function function :
       {Function::kTanh, Function::kErf, Function::kSigmoid, Function::kOneMinusTanh, Function::kOneMinusErf}) {
    for (const double x : {60.0, -60.0, 700.0, -700.0, 1e5, -1e5}) {
      const double reach = std::fabs(x) / 3;
      double z = 0, slope = 0, curve = 0, amplify = 0;
      MapValues(function, {&x}, &z, 1);
      MapSlopes(function, {&x}, {&reach}, &z, -1, {{&slope}, &curve, &amplify}, 1);
      EXPECT_LE(std::fabs(slope) * reach + curve, 0x1p-50 * reach + 1e-17) << Info(function).name << "(" << x << ")";
    }
  }
}

// Near zero a square root says what it can: as much as the root of the error, where nothing is negative.
TEST(FormulaFunctions, RootsNearZero) {
  const double x = 1e-10, z = std::sqrt(x), reach = 1e-8;
  double slope = 0, curve = 0, amplify = 0;
  MapSlopes(Function::kSqrt, {&x}, {&reach}, &z, 0, {{&slope}, &curve, &amplify}, 1);
  EXPECT_LE(std::sqrt(x + reach) - z, slope * reach + curve);
  MapSlopes(Function::kSqrt, {&x}, {&reach}, &z, -1, {{&slope}, &curve, &amplify}, 1);
  EXPECT_TRUE(std::isinf(curve)) << "a root of what may be negative";
}

TEST(FormulaFunctions, InfinitiesAndNanFollowIeee) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> x = {inf, -inf, std::nan(""), 1000, -1000}, zero(x.size());
  std::vector<double> hi(x.size()), lo(x.size());
  MapValuesDD(Function::kExp, {x.data()}, {zero.data()}, hi.data(), lo.data(), 5);
  EXPECT_EQ(hi[0], inf);
  EXPECT_EQ(hi[1], 0);
  EXPECT_TRUE(std::isnan(hi[2]));
  EXPECT_EQ(hi[3], inf);
  EXPECT_EQ(hi[4], 0);
  for (const double low : lo) EXPECT_EQ(low, 0);
  MapValuesDD(Function::kAdd, {x.data(), x.data()}, {zero.data(), zero.data()}, hi.data(), lo.data(), 5);
  EXPECT_EQ(hi[0], inf);
  EXPECT_EQ(lo[0], 0);
}

}  // namespace
}  // namespace assay::formula
