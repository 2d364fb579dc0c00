// SPDX-License-Identifier: Apache-2.0
// Epilogue of matmul and conv, applied to a golden value that golden/gemm/gemm.h computed.
#pragma once

#include <cstdint>

#include "golden/dd/dd.h"
#include "golden/golden.h"

namespace assay {

// Stores y as element i; or `plain`, the same expression in double, where that is not finite: there IEEE rules decide,
// and the compensation would turn an infinity into NaN. Returns the magnitude of what the tier does not keep of y,
// which is an error of the stored value.
double SetElement(Golden& golden, int64_t i, DD y, double plain);

}  // namespace assay
