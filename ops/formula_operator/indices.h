// SPDX-License-Identifier: Apache-2.0
// Operands of integers: places along an axis, and i64 beyond 2^53.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"
#include "ops/formula/graph.h"

namespace assay {

// Draws the integers of an operand that has places, at random. Indices are the last, the first, and every fourth one
// again the one before it. Lengths are all, 1, and others of at least 1. Where ends are several, the first part is
// empty.
void DrawPlaces(const formula::Graph& graph, size_t input, uint64_t seed, Tensor& to);

// Takes integers modulo the first that is beyond `most` (Definition::KeepWithin).
void KeepWithin(double most, Tensor& tensor);

// Divides integers beyond 2^53 by 2^11, so that doubles hold all of them.
void KeepToDoubles(Tensor& integers);

}  // namespace assay
