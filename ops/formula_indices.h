// SPDX-License-Identifier: Apache-2.0
// Operands of integers: places along an axis, and i64 beyond 2^53.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"

namespace assay {

// Places in [0, extent) at random: the last, the first, and every fourth one again as the one before it.
void DrawPlaces(int64_t extent, uint64_t seed, uint64_t stream, Tensor& to);

// Divides integers beyond 2^53 by 2^11, so that doubles hold all of them.
void KeepToDoubles(Tensor& integers);

}  // namespace assay
