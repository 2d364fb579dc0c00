// SPDX-License-Identifier: Apache-2.0
#include "ops/epilogue.h"

#include <cmath>

namespace assay {

double SetElement(Golden& golden, int64_t i, DD y, double plain) {
  const bool finite = std::isfinite(plain);
  golden.value[i] = finite ? y.hi : plain;
  if (golden.value_lo.empty()) return finite ? std::abs(y.lo) : 0;
  golden.value_lo[i] = finite ? y.lo : 0;
  return 0;
}

}  // namespace assay
