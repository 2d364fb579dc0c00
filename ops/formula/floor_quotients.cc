// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/floor_quotients.h"

#include <cmath>
#include <limits>

#include "harness/core/base/multiversion.h"

namespace assay::formula {
namespace {

// The rounded quotient may be an integer that the exact one is below: the rest then has the other sign. Without
// branches, which random integers would have mispredicted half of the time.
inline double FloorQuotient(double x, double y) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const double quotient = std::floor(x / y), rest = std::fma(-quotient, y, x);
  const double sign_of_y = y < 0 ? -1.0 : 1.0;
  const double sign_of_rest = rest < 0 ? -1.0 : rest == 0 ? 0.0 : 1.0;
  const double above = sign_of_rest * sign_of_y < 0 ? 1.0 : 0.0;
  const double usual = quotient - (std::fabs(quotient) <= kMost ? above : 0.0);
  const double sign_of_x = x < 0 ? -1.0 : x == 0 ? 0.0 : 1.0;
  const double of_infinity = sign_of_x * sign_of_y < 0 ? -1.0 : 0.0;
  const double of_large = std::fabs(x) <= kMost ? of_infinity : usual;
  return std::fabs(y) > kMost ? of_large : usual;
}

}  // namespace

ASSAY_MULTIVERSION void FloorQuotients(const double* x, const double* y, double* z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = FloorQuotient(x[i], y[i]);
}

}  // namespace assay::formula
