// SPDX-License-Identifier: Apache-2.0
// By how much sums in an accumulator may lean to one side in all rows, whatever the order of their terms.
#pragma once

#include <cstdint>
#include <span>

#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"
#include "ops/operator.h"

namespace assay {

// Share of the sum of the terms' sizes, of the sum that leans most. A running sum lies on a grid, so that adding a term
// rounds the term to it. What rounding all terms of a row to one grid loses is measured, over rows of the data and for
// each grid up to that of the whole sum; the largest loss counts, and how much it may be off by chance. Infinite where
// the terms of some row are not known.
// Precondition: the output has `rows` equal slices, one behind the other.
double MeasureSumLean(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                      const Contract& contract, int64_t rows);

}  // namespace assay
