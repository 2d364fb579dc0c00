// SPDX-License-Identifier: Apache-2.0
#include "harness/data/fill/portable_math.h"

#include <limits>

#include "harness/base/multiversion.h"  // refuses -ffast-math
#include "harness/data/fill/rng.h"

namespace assay {

double PortableExp(double x) {
  return internal::ExpKernel(x);
}

double PortableLog(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(x > 0)) return x == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (x == kInfinity) return x;
  if (x < std::numeric_limits<double>::min()) return internal::LogKernel(x * 0x1p54, -54.0);
  return internal::LogKernel(x, 0.0);
}

}  // namespace assay
