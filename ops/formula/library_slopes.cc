// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/library_functions.h"

namespace assay::formula {
namespace {

constexpr double kLn2 = 0.69314718055994531, kLn10 = 2.3025850929940457;

// f'(x), and the largest |f''| on [x - a, x + a]; infinite where that interval leaves the open domain.
struct Derivatives {
  double slope, most_curved;
};

// Logarithms to a base: log''(x) = -1 / x^2.
Derivatives OfLogarithm(double x, double a, double log_of_base) {
  const double least = x - a;
  return {1 / (x * log_of_base), least > 0 ? 1 / (least * least * log_of_base) : kInfinity};
}

// tan'' = 2 tan (1 + tan^2), whose magnitude is largest at an end. There is a pole between x and x + e where
// 1 - tan(x) tan(e) has become zero.
Derivatives OfTangent(double x, double a, double z) {
  const bool has_pole = !(a < 1.5) || !(std::fabs(z) * std::tan(a) < 1);
  const double end = std::max(std::fabs(std::tan(x - a)), std::fabs(std::tan(x + a)));
  return {1 + z * z, has_pole ? kInfinity : 2 * end * (1 + end * end) * (1 + 0x1p-40)};
}

// asin' = 1 / sqrt(1 - x^2), asin'' = x asin'^3. acos has the opposite sign.
Derivatives OfArcSine(double x, double a) {
  const double far = std::fabs(x) + a, at_end = 1 / std::sqrt((1 - far) * (1 + far));
  return {1 / std::sqrt((1 - x) * (1 + x)), far < 1 ? far * at_end * at_end * at_end : kInfinity};
}

// |atan''| = 2 |x| / (1 + x^2)^2 rises to 0.6496 at 1 / sqrt 3 and falls from there on; asinh'' = -x / (1 + x^2)^(3/2)
// is like that, with 0.385 at 1 / sqrt 2.
Derivatives OfArcTangent(double x, double near) {
  const double curved = 2 * near / ((1 + near * near) * (1 + near * near));
  return {1 / (1 + x * x), near > 0.58 ? curved : 0.65};
}
Derivatives OfAreaSine(double x, double near) {
  const double slope = 1 / std::hypot(1, near);
  return {1 / std::hypot(1, x), near > 0.71 ? near * slope * slope * slope : 0.385};
}

// acosh' = 1 / sqrt(x^2 - 1), acosh'' = -x acosh'^3.
Derivatives OfAreaCosine(double x, double a) {
  const double least = x - a, at_end = 1 / std::sqrt((least - 1) * (least + 1));
  return {1 / std::sqrt((x - 1) * (x + 1)), least > 1 ? least * at_end * at_end * at_end : kInfinity};
}

// atanh' = 1 / (1 - x^2), atanh'' = 2 x atanh'^2.
Derivatives OfAreaTangent(double x, double a) {
  const double far = std::fabs(x) + a, at_end = 1 / ((1 - far) * (1 + far));
  return {1 / ((1 - x) * (1 + x)), far < 1 ? 2 * far * at_end * at_end : kInfinity};
}

// cbrt' = cbrt(x) / (3 x), |cbrt''| = 2/9 cbrt(x) / x^2.
Derivatives OfCubeRoot(double x, double near, double z) {
  return {z / (3 * x), near > 0 ? std::cbrt(near) / (near * near) * (2.0 / 9 + 0x1p-50) : kInfinity};
}

Derivatives DerivativesOf(Function function, double x, double a, double z) {
  const double near = std::max(std::fabs(x) - a, 0.0), far = std::fabs(x) + a;
  switch (function) {
    case Function::kExp2:
      return {kLn2 * z, kLn2 * kLn2 * std::exp2(x + a)};
    case Function::kExpm1:
      return {std::exp(x), std::exp(x + a)};
    case Function::kLog2:
      return OfLogarithm(x, a, kLn2);
    case Function::kLog10:
      return OfLogarithm(x, a, kLn10);
    case Function::kTan:
      return OfTangent(x, a, z);
    case Function::kAsin:
      return OfArcSine(x, a);
    case Function::kAcos:
      return {-OfArcSine(x, a).slope, OfArcSine(x, a).most_curved};
    case Function::kAtan:
      return OfArcTangent(x, near);
    case Function::kSinh:
      return {std::cosh(x), std::sinh(far)};
    case Function::kCosh:
      return {std::sinh(x), std::cosh(far)};
    case Function::kAsinh:
      return OfAreaSine(x, near);
    case Function::kAcosh:
      return OfAreaCosine(x, a);
    case Function::kAtanh:
      return OfAreaTangent(x, a);
    default:
      return OfCubeRoot(x, near, z);
  }
}

// How far the result moves at most, whatever is known of derivatives: atan has the width pi, and cbrt(x + a) - cbrt(x)
// is largest where x is -a / 2.
double MostChange(Function function, double a) {
  if (function == Function::kAtan) return 3.1416;
  return function == Function::kCbrt ? 1.5875 * std::cbrt(a) : kInfinity;
}

}  // namespace

void LibrarySlopes(Function function, const double* x, const double* reach, const double* z, const Slopes& to,
                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = reach[i];
    to.slope[0][i] = to.curve[i] = 0;
    if (a == 0) continue;
    const Derivatives d = DerivativesOf(function, x[i], a, z[i]);
    const double curve = 0.5 * d.most_curved * a * a, most = MostChange(function, a);
    // Slopes are infinite at the ends of a domain, and curves that are not numbers say nothing.
    const bool by_slope = std::isfinite(d.slope) && std::fabs(d.slope) * a + curve < most;
    to.slope[0][i] = by_slope ? d.slope : 0;
    to.curve[i] = by_slope ? curve : most;
  }
}

}  // namespace assay::formula
