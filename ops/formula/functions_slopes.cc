// SPDX-License-Identifier: Apache-2.0
// Slopes and second-order rests. Of a twice differentiable f the rest is at most sup |f''| reach^2 / 2, the supremum
// taken over [x - reach, x + reach]; each case below names its f''. Where that interval meets a pole, nothing can be
// said.
#include <algorithm>
#include <cmath>

#include "harness/core/base/multiversion.h"
#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/functions.h"
#include "ops/formula/library_functions.h"

namespace assay::formula {
namespace {

void Fill(double* to, double value, int64_t n) {
  if (to != nullptr) std::fill_n(to, n, value);
}

ASSAY_MULTIVERSION void Product(const Operands& x, const Operands& reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to.slope[0][i] = x[1][i];
    to.slope[1][i] = x[0][i];
    to.curve[i] = reach[0][i] * reach[1][i];
  }
}

// (x + a) / (y + b) - x / y = L (1 - b / (y + b)), L = (a - z b) / y.
ASSAY_MULTIVERSION void Quotient(const Operands& x, const Operands& reach, const double* z, const Slopes& to,
                                 int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double y = x[1][i], size = std::fabs(y), b = reach[1][i];
    to.slope[0][i] = 1 / y;
    to.slope[1][i] = -z[i] / y;
    to.curve[i] = 0;
    const double room = size - b;
    to.amplify[i] = b == 0 ? 0 : (room > 0 ? b / room : kInfinity);
  }
}

// exp is its own derivative: exp(x) exp(a) a^2 / 2. exp(a) <= 1 + 2 a up to a = 1.
ASSAY_MULTIVERSION void Exponential(const double* x, const double* reach, const double* z, const Slopes& to,
                                    int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i];
    to.slope[0][i] = z[i];
    to.curve[i] = 0.5 * z[i] * a * a * (1 + 2 * a);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (reach[i] > 1) to.curve[i] = std::exp(x[i] + reach[i]);  // f(x + a) itself bounds the rest
  }
}

// log'' = -1 / x^2.
void Logarithm(const double* x, double shift, const double* reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double at = x[i] + shift, a = reach[i], room = at - a;
    to.slope[0][i] = 1 / at;
    to.curve[i] = a == 0 ? 0 : (room > 0 ? 0.5 * (a / room) * (a / room) : kInfinity);
  }
}

// sqrt'' = -x^(-3/2) / 4. Where zero is near: |sqrt(x + e) - sqrt(x)| <= sqrt |e|, as long as no root is negative.
void Root(const double* x, const double* reach, const double* z, bool non_negative, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i], room = x[i] - a;
    const bool near_zero = !(room > 0);
    to.slope[0][i] = near_zero ? 0 : 0.5 / z[i];
    const double curve = 0.125 * a * a / (room * std::sqrt(std::fabs(room)));
    to.curve[i] = a == 0 ? 0 : near_zero ? (non_negative ? std::sqrt(a) : kInfinity) : curve;
    if (!near_zero && non_negative) {  // whichever is less
      const double linear = to.slope[0][i] * a;
      if (std::sqrt(a) < linear + to.curve[i]) to.slope[0][i] = 0, to.curve[i] = std::sqrt(a);
    }
  }
}

// (x^(-1/2))'' = 3/4 x^(-5/2). Results lie between zero and that of the least operand.
void InverseRoot(const double* x, const double* reach, const double* z, double least, const Slopes& to, int64_t n) {
  const double largest = least > 0 ? 1 / std::sqrt(least) : kInfinity;
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i], room = x[i] - a;
    to.slope[0][i] = -0.5 * z[i] / x[i];
    const double ratio = a / room;
    to.curve[i] = a == 0 ? 0 : (room > 0 ? 0.375 * ratio * ratio / std::sqrt(room) : kInfinity);
    if (std::fabs(to.slope[0][i]) * a + to.curve[i] > largest) to.slope[0][i] = 0, to.curve[i] = largest;
  }
}

// Absolute error of 1 - z^2 and z (1 - z) near z = 1.
constexpr double kSaturated = 0x1p-51;

// How far the whole interval [x - reach, x + reach] is from zero.
double RoomOf(double x, double reach) {
  return std::max(std::fabs(x) - reach, 0.0);
}

// A function that is saturated on the whole interval: its curvature there is `most_curved` at most, and it changes by
// `most_change` at most. Whichever says less of the rest, given what is known of it everywhere.
double RestOf(double everywhere, double most_curved, double most_change, double slope, double reach) {
  return std::min({everywhere, 0.5 * most_curved * reach * reach, most_change + slope * reach});
}

// tanh' = 1 - tanh^2, |tanh''| <= 0.77 and, at x, at most 8 exp(-2 |x|); 1 - |tanh| <= 2 exp(-2 |x|).
ASSAY_MULTIVERSION void Tanh(const double* x, const double* reach, const double* z, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to.curve[i] = -2 * RoomOf(x[i], reach[i]);
  internal::ExpKernels(to.curve, to.curve, n);
  for (int64_t i = 0; i < n; ++i) {
    const double e = to.curve[i], a = reach[i], slope = 1 - z[i] * z[i];
    to.slope[0][i] = slope;
    to.curve[i] = RestOf(0.385 * a * a, 8 * e, 2 * e, slope, a) + kSaturated * a;
  }
}

// erf' = 2 / sqrt(pi) exp(-x^2); |erf''| = 4 / sqrt(pi) |x| exp(-x^2) <= 0.968, less and less beyond 1 / sqrt 2;
// 1 - |erf| <= exp(-x^2).
ASSAY_MULTIVERSION void ErrorFunction(const double* x, const double* reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double room = RoomOf(x[i], reach[i]);
    to.slope[0][i] = -x[i] * x[i];
    to.curve[i] = -room * room;
  }
  internal::ExpKernels(to.slope[0], to.slope[0], n);
  internal::ExpKernels(to.curve, to.curve, n);
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i], room = RoomOf(x[i], a), e = to.curve[i];
    const double slope = to.slope[0][i] * 1.1283791670955128;
    to.slope[0][i] = slope;
    to.curve[i] = RestOf(0.4841 * a * a, room > 1 ? 2.2567583341910252 * room * e : 0.968, 2 * e, slope, a);
    to.curve[i] += x[i] * x[i] * 0x1p-52 * slope * a;  // the square above is rounded
  }
}

// (1 - tanh)' = -(1 - tanh^2) = -z (2 - z), which keeps its digits where z is small; |tanh''| as above.
ASSAY_MULTIVERSION void OneMinusTanhSlopes(const double* x, const double* reach, const double* z, const Slopes& to,
                                           int64_t n) {
  for (int64_t i = 0; i < n; ++i) to.curve[i] = -2 * RoomOf(x[i], reach[i]);
  internal::ExpKernels(to.curve, to.curve, n);
  for (int64_t i = 0; i < n; ++i) {
    const double e = to.curve[i], a = reach[i], slope = z[i] * (2 - z[i]);
    to.slope[0][i] = -slope;
    to.curve[i] = RestOf(0.385 * a * a, 8 * e, 2 * e, slope, a) + (z[i] > 1 ? kSaturated : 0x1p-50 * slope) * a;
  }
}

// s' = s (1 - s); |s''| <= 0.09623 and at most s' <= exp(-|x|), which is also at least the smaller of s and 1 - s.
ASSAY_MULTIVERSION void SigmoidSlopes(const double* x, const double* reach, const double* z, const Slopes& to,
                                      int64_t n) {
  for (int64_t i = 0; i < n; ++i) to.curve[i] = -RoomOf(x[i], reach[i]);
  internal::ExpKernels(to.curve, to.curve, n);
  for (int64_t i = 0; i < n; ++i) {
    const double slope = z[i] * (1 - z[i]), a = reach[i], e = to.curve[i];
    to.slope[0][i] = slope;
    to.curve[i] = a < 1 ? 0.5 * slope * (1 + 2 * a) * a * a : RestOf(0.0482 * a * a, e, e, slope, a);
    if (z[i] > 0.5) to.curve[i] += kSaturated * a;
  }
}

// |sin''| and |cos''| <= 1, and neither moves by more than 2.
void Sine(const double* x, bool is_cosine, const double* reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i], slope = is_cosine ? -std::sin(x[i]) : std::cos(x[i]);
    const bool is_small = a < 2;
    to.slope[0][i] = is_small ? slope : 0;
    to.curve[i] = is_small ? 0.5 * a * a + 0x1p-51 * a : 2;  // slopes are rounded
  }
}

// (x + a)^(y + b) is x^y exp(y log(1 + a / x) + b log(x + a)): the rest has the whole change. Where x may be zero its
// powers by an exact positive y lie between zero and (x + a)^y. Of x that may be negative nothing is said, but of exact
// operands.
void Power(const Operands& x, const Operands& reach, const double* z, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[0][i], b = reach[1][i], room = x[0][i] - a;
    to.slope[0][i] = to.slope[1][i] = to.curve[i] = 0;
    if (a == 0 && b == 0) continue;
    const double logarithm = std::max(std::fabs(std::log(room)), std::fabs(std::log(x[0][i] + a)));
    const double exponent = b * logarithm - std::fabs(x[1][i]) * std::log1p(-a / x[0][i]);
    to.curve[i] = room > 0 ? z[i] * std::expm1(exponent) * (1 + 0x1p-40) : kInfinity;
    const bool ends_at_zero = room == 0 && b == 0 && x[1][i] > 0;
    if (ends_at_zero) to.curve[i] = std::pow(x[0][i] + a, x[1][i]) * (1 + 0x1p-40);
  }
}

void Absolute(const double* x, const double* reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool certain = std::fabs(x[i]) > reach[i];
    to.slope[0][i] = certain ? std::copysign(1.0, x[i]) : 0;
    to.curve[i] = certain ? 0 : reach[i];
  }
}

// The winner's error where it is certain, else the larger one.
void Extreme(bool largest, const Operands& x, const Operands& reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double lead = largest ? x[0][i] - x[1][i] : x[1][i] - x[0][i];
    const bool certain = std::fabs(lead) > reach[0][i] + reach[1][i];
    to.slope[0][i] = certain && lead > 0 ? 1 : 0;
    to.slope[1][i] = certain && lead < 0 ? 1 : 0;
    to.curve[i] = certain ? 0 : std::max(reach[0][i], reach[1][i]);
  }
}

// A condition is 1 or 0, whatever is compared. NaN is neither less nor equal.
void Compare(const Operands& x, const Operands& reach, const Slopes& to, int64_t n) {
  const auto is_nan = [&](size_t k, int64_t i) { return std::isnan(x[k][i]) && reach[k][i] == 0; };
  for (int64_t i = 0; i < n; ++i) {
    const double both = reach[0][i] + reach[1][i];
    const bool is_certain = both == 0 || std::fabs(x[0][i] - x[1][i]) > both || is_nan(0, i) || is_nan(1, i);
    to.slope[0][i] = to.slope[1][i] = 0;
    to.curve[i] = is_certain ? 0 : 1;
  }
}

// A step function goes up by all the steps that the operand's error may pass.
void Nearest(const double* x, const double* reach, const double* z, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to.slope[0][i] = 0;
    const double low = std::nearbyint(x[i] - reach[i]), high = std::nearbyint(x[i] + reach[i]);
    to.curve[i] = reach[i] == 0 ? 0 : std::max(high - z[i], z[i] - low);
  }
}

// Quotients by what has no zero near it lie between those of the ends.
void FloorDivide(const Operands& x, const Operands& reach, const double* z, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[0][i], b = reach[1][i];
    to.slope[0][i] = to.slope[1][i] = to.curve[i] = 0;
    if (a == 0 && b == 0) continue;
    double farthest = std::fabs(x[1][i]) > b ? 0 : kInfinity;
    for (const double above : {x[0][i] - a, x[0][i] + a}) {
      for (const double below : {x[1][i] - b, x[1][i] + b}) {
        const double quotient = above / below, rounding = std::fabs(quotient) * 0x1p-50;
        farthest = std::max({farthest, std::floor(quotient + rounding) - z[i], z[i] - std::floor(quotient - rounding)});
      }
    }
    to.curve[i] = farthest;
  }
}

bool IsCertainlyZero(double x, double reach) {
  return x == 0 && reach == 0;
}
bool IsCertainlyNotZero(double x, double reach) {
  return x != 0 && (reach == 0 || std::fabs(x) > reach);
}

// One operand may decide alone.
void Join(bool is_and, const Operands& x, const Operands& reach, const Slopes& to, int64_t n) {
  const auto decides = is_and ? IsCertainlyZero : IsCertainlyNotZero;
  const auto agrees = is_and ? IsCertainlyNotZero : IsCertainlyZero;
  for (int64_t i = 0; i < n; ++i) {
    const double a = x[0][i], b = x[1][i], of_a = reach[0][i], of_b = reach[1][i];
    const bool is_certain = decides(a, of_a) || decides(b, of_b) || (agrees(a, of_a) && agrees(b, of_b));
    to.slope[0][i] = to.slope[1][i] = 0;
    to.curve[i] = is_certain ? 0 : 1;
  }
}

void Select(const Operands& x, const Operands& reach, const Slopes& to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool first = x[0][i] != 0, certain = reach[0][i] == 0 || IsCertainlyNotZero(x[0][i], reach[0][i]);
    to.slope[0][i] = 0;
    to.slope[1][i] = certain && first ? 1 : 0;
    to.slope[2][i] = certain && !first ? 1 : 0;
    const double either = std::fabs(x[1][i] - x[2][i]) + std::max(reach[1][i], reach[2][i]);
    to.curve[i] = certain ? 0 : reach[0][i] == kInfinity ? kInfinity : either;
  }
}

}  // namespace

void MapSlopes(Function function, const Operands& x, const Operands& reach, const double* z, double least,
               const Slopes& to, int64_t n) {
  Fill(to.amplify, 0, n);
  switch (function) {
    case Function::kAdd:
    case Function::kSub:
      Fill(to.slope[0], 1, n);
      Fill(to.slope[1], function == Function::kAdd ? 1 : -1, n);
      return Fill(to.curve, 0, n);
    case Function::kNegate:
      Fill(to.slope[0], -1, n);
      return Fill(to.curve, 0, n);
    case Function::kMul:
      return Product(x, reach, to, n);
    case Function::kDiv:
      return Quotient(x, reach, z, to, n);
    case Function::kAbs:
      return Absolute(x[0], reach[0], to, n);
    case Function::kMaximum:
    case Function::kMinimum:
      return Extreme(function == Function::kMaximum, x, reach, to, n);
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kEqual:
      return Compare(x, reach, to, n);
    case Function::kAnd:
    case Function::kOr:
      return Join(function == Function::kAnd, x, reach, to, n);
    case Function::kSelect:
      return Select(x, reach, to, n);
    case Function::kSqrt:
      return Root(x[0], reach[0], z, least >= 0, to, n);
    case Function::kRsqrt:
      return InverseRoot(x[0], reach[0], z, least, to, n);
    case Function::kExp:
      return Exponential(x[0], reach[0], z, to, n);
    case Function::kLog:
      return Logarithm(x[0], 0, reach[0], to, n);
    case Function::kLog1p:
      return Logarithm(x[0], 1, reach[0], to, n);
    case Function::kTanh:
      return Tanh(x[0], reach[0], z, to, n);
    case Function::kErf:
      return ErrorFunction(x[0], reach[0], to, n);
    case Function::kOneMinusTanh:
      return OneMinusTanhSlopes(x[0], reach[0], z, to, n);
    case Function::kOneMinusErf:
    case Function::kErfc:
      ErrorFunction(x[0], reach[0], to, n);
      for (int64_t i = 0; i < n; ++i) to.slope[0][i] = -to.slope[0][i];
      return;
    case Function::kSin:
    case Function::kCos:
      return Sine(x[0], function == Function::kCos, reach[0], to, n);
    case Function::kPow:
      return Power(x, reach, z, to, n);
    case Function::kFloorDivide:
      return FloorDivide(x, reach, z, to, n);
    case Function::kNearest:
      return Nearest(x[0], reach[0], z, to, n);
    case Function::kSigmoid:
      return SigmoidSlopes(x[0], reach[0], z, to, n);
    default:
      return LibrarySlopes(function, x[0], reach[0], z, to, n);
  }
}

}  // namespace assay::formula
