// SPDX-License-Identifier: Apache-2.0
// Values in double-double, by IEEE basic operations alone, those of functions_quad.h too. Where an operand or the
// result is not finite, the value in double decides: compensation would turn infinities into NaN.
#include <algorithm>
#include <cmath>

#include "golden/dd/dd.h"
#include "ops/formula/functions.h"
#include "ops/formula/functions_quad.h"

namespace assay::formula {
namespace {

constexpr double kExpLimit = 1300;        // beyond twice +-650 double has no exponentials
constexpr double kSeriesBelow = 0x1p-16;  // of log1p
constexpr double kErfOne = 8.5;           // erfc(8.5) < 2^-106
constexpr DD kTwoOverRootPi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

// For every x: the square of exp(x / 2), whose argument is within the range of Exp.
DD ExpAny(DD x) {
  if (std::fabs(x.hi) < 600) return Exp(x);
  const DD root = Exp(Scale({std::clamp(x.hi, -kExpLimit, kExpLimit), std::fabs(x.hi) < kExpLimit ? x.lo : 0}, 0.5));
  return root * root;
}

constexpr double kTiny = 0x1p-900, kUp = 0x1p200;  // low parts and residues of smaller numbers underflow

DD SqrtOf(DD x) {
  if (x.hi < kTiny && x.hi > 0) return Scale(SqrtOf(Scale(x, kUp)), 0x1p-100);
  const double root = std::sqrt(x.hi);
  if (root == 0) return {0, 0};
  return QuickTwoSum(root, (std::fma(-root, root, x.hi) + x.lo) / (2 * root));
}

DD QuotientOf(DD x, DD y) {
  if (std::fabs(x.hi) < kTiny && std::fabs(y.hi) < 1) return Scale(x, kUp) / Scale(y, kUp);
  return x / y;
}

// Subnormal numbers are scaled by 2^64 first.
DD LogAny(DD x) {
  if (x.hi >= 0x1p-1000) return Log(x);
  return Log(Scale(x, 0x1p64)) - Log(DD{0x1p64, 0});
}

DD Log1pOf(DD x) {
  if (std::fabs(x.hi) >= kSeriesBelow) return LogAny(x + 1.0);
  DD sum = DD{1, 0} / DD{7, 0};  // x - x^2/2 + ... + x^7/7: what follows is below 2^-115 of it
  for (int k = 6; k >= 1; --k) sum = DD{1, 0} / DD{static_cast<double>(k), 0} - sum * x;
  return sum * x;
}

DD TanhOf(DD x) {
  if (std::fabs(x.hi) > 40) return {std::copysign(1.0, x.hi), 0};  // 1 - tanh 40 < 2^-114
  if (std::fabs(x.hi) >= 0.0625) {
    const DD e = ExpAny(Scale(x, 2));
    return DD{1, 0} - DD{2, 0} / (e + 1.0);
  }
  const DD square = x * x;  // Lambert's continued fraction
  DD below{17, 0};
  for (int k = 15; k >= 1; k -= 2) below = square / below + static_cast<double>(k);
  return x / below;
}

// 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!: no term is negative for positive x.
DD ErfOf(DD x) {
  if (std::fabs(x.hi) > kErfOne) return {std::copysign(1.0, x.hi), 0};
  const DD square = x * x;
  DD term = x, sum = x;
  for (int n = 1; n < 400 && std::fabs(term.hi) > 0x1p-110 * std::fabs(sum.hi); ++n) {
    term = term * Scale(square, 2) / DD{static_cast<double>(2 * n + 1), 0};
    sum = sum + term;
  }
  return kTwoOverRootPi * ExpAny(-square) * sum;
}

DD SigmoidOf(DD x) {
  const DD e = ExpAny(x.hi < 0 ? x : -x);
  return (x.hi < 0 ? e : DD{1, 0}) / (e + 1.0);
}

DD OneMinusTanhOf(DD x) {
  return Scale(SigmoidOf(Scale(x, -2)), 2);
}

DD FloorOf(DD x) {
  const double high = std::floor(x.hi);
  return high == x.hi ? QuickTwoSum(high, std::floor(x.lo)) : DD{high, 0};
}

DD FloorQuotient(DD x, DD y) {
  const DD quotient = FloorOf(QuotientOf(x, y)), rest = x - quotient * y;
  return rest.hi != 0 && (rest.hi < 0) != (y.hi < 0) ? quotient - DD{1, 0} : quotient;
}

DD NearestTo(DD x) {
  const DD low = FloorOf(x), rest = x - low;
  const DD half = Scale(low, 0.5), even = FloorOf(half);
  const bool is_even = even.hi == half.hi && even.lo == half.lo;
  const bool is_up = rest.hi != 0.5 ? rest.hi > 0.5 : rest.lo != 0 ? rest.lo > 0 : !is_even;
  return is_up ? low + 1.0 : low;
}

DD Apply(Function function, DD x, DD y) {
  switch (function) {
    case Function::kAdd:
      return x + y;
    case Function::kSub:
      return x - y;
    case Function::kMul:
      return x * y;
    case Function::kDiv:
      return QuotientOf(x, y);
    case Function::kNegate:
      return -x;
    case Function::kAbs:
      return std::signbit(x.hi) ? -x : x;
    case Function::kMaximum:
      return x.hi > y.hi || (x.hi == y.hi && x.lo > y.lo) ? x : y;
    case Function::kMinimum:
      return x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo) ? x : y;
    case Function::kLess:
      return {x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo) ? 1.0 : 0.0, 0};
    case Function::kLessEqual:
      return {x.hi < y.hi || (x.hi == y.hi && x.lo <= y.lo) ? 1.0 : 0.0, 0};
    case Function::kEqual:
      return {x.hi == y.hi && x.lo == y.lo ? 1.0 : 0.0, 0};
    case Function::kAnd:
      return {x.hi != 0 && y.hi != 0 ? 1.0 : 0.0, 0};
    case Function::kOr:
      return {x.hi != 0 || y.hi != 0 ? 1.0 : 0.0, 0};
    case Function::kSqrt:
      return SqrtOf(x);
    case Function::kRsqrt:
      return DD{1, 0} / SqrtOf(x);
    case Function::kExp:
      return ExpAny(x);
    case Function::kLog:
      return LogAny(x);
    case Function::kLog1p:
      return Log1pOf(x);
    case Function::kTanh:
      return TanhOf(x);
    case Function::kErf:
      return ErfOf(x);
    case Function::kOneMinusTanh:
      return OneMinusTanhOf(x);
    case Function::kSigmoid:
      return SigmoidOf(x);
    case Function::kSin:
      return SinOf(x);
    case Function::kCos:
      return CosOf(x);
    case Function::kPow:
      return PowOf(x, y);
    case Function::kFloorDivide:
      return FloorQuotient(x, y);
    case Function::kNearest:
      return NearestTo(x);
    case Function::kTan:
      return TanOf(x);
    case Function::kSelect:
      break;
    default:
      return ByQuad(function, x);
  }
  return x;
}

}  // namespace

void MapValuesDD(Function function, const Operands& hi, const Operands& lo, double* z_hi, double* z_lo, int64_t n) {
  MapValues(function, hi, z_hi, n);
  const bool binary = Info(function).arity == 2;
  for (int64_t i = 0; i < n; ++i) {
    if (function == Function::kSelect) {
      z_lo[i] = hi[0][i] != 0 ? lo[1][i] : lo[2][i];
      continue;
    }
    z_lo[i] = 0;
    const bool finite = std::isfinite(z_hi[i]) && std::isfinite(hi[0][i]) && (!binary || std::isfinite(hi[1][i]));
    if (!finite) continue;
    const DD z = Apply(function, {hi[0][i], lo[0][i]}, binary ? DD{hi[1][i], lo[1][i]} : DD{});
    if (!std::isfinite(z.hi) || !std::isfinite(z.lo)) continue;
    z_hi[i] = z.hi;
    z_lo[i] = z.lo;
  }
}

double MapErrorDD(Function function) {
  switch (Info(function).rounding) {
    case Rounding::kNone:
      return 0;
    case Rounding::kAdd:
    case Rounding::kMultiply:
      return 0x1p-104;
    case Rounding::kDivide:
    case Rounding::kRoot:
      return 0x1p-98;
    case Rounding::kFunction:
    case Rounding::kComposition:
    case Rounding::kTail:
      return 0x1p-86;  // the tests hold it against MPFR
  }
  return 0;
}

}  // namespace assay::formula
