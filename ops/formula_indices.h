// SPDX-License-Identifier: Apache-2.0
// Operands that are places along an axis.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"

namespace assay {

// Places in [0, extent) at random: the last, the first, and every fourth one again as the one before it.
void DrawPlaces(int64_t extent, uint64_t seed, uint64_t stream, Tensor& to);

}  // namespace assay
