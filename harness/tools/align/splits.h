// SPDX-License-Identifier: Apache-2.0
// Cases that one kernel computes in slices of their terms: attention in slices of the keys, merged by their logarithms
// of sums as flash-decoding does, and sums in slices of their terms (split-k), added in f32.
#pragma once

#include <span>
#include <vector>

#include "harness/tools/align/configurations.h"

namespace assay {

// Merges {o, lse} of each slice of the keys in f32, in the order of the slices: weights exp(lse_i - max lse), o the sum
// of weighted o_i divided by the sum of the weights, lse = max lse + log of that sum. exp and log are rounded from f64,
// which gives the same bits on every machine. The result has o of `type` and lse in f32.
std::vector<Tensor> MergeByLse(std::span<const std::vector<Tensor>> parts, DType type);

// Sums the first output of each slice in their order, in f32 or the slices' wider type, and rounds once to `type`.
Tensor SumInF32(std::span<const std::vector<Tensor>> parts, DType type);

// Slices of equal lengths, then of lengths n : n-1 : ... : 1. Where the output is narrower than f32, once with slices
// that give f32, and once with slices that round to the output's type. Errors: why the case has no such slices.
Result<std::vector<Configuration>> ListSplits(const Operator& op, const Problem& problem, int64_t n);

}  // namespace assay
