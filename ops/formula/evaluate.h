// SPDX-License-Identifier: Apache-2.0
// A graph's values, and any number of propagations beside them, in blocks on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/formula/error.h"

namespace assay::formula {

struct Evaluation {
  std::vector<double> value, value_lo;      // of the output in its layout; value_lo: in double-double, else empty
  std::vector<std::vector<double>> reach;   // of each propagation
  std::vector<std::vector<double>> beside;  // of each: bits of Beside; empty where there are none
  // One flag per propagation, for all its elements: if one open NaN may be any number, every open NaN may.
  std::vector<uint8_t> any_instead_of_nan;
};

inline Beside BesideAt(const Evaluation& evaluation, size_t propagation, size_t i) {
  const std::vector<double>& beside = evaluation.beside[propagation];
  return beside.empty() ? kNothingBeside : static_cast<Beside>(beside[i]);
}

// Sums of matrix products that are held at once, in elements: formulas with larger ones are evaluated slice by slice,
// along an axis of lanes.
inline constexpr int64_t kMostHeld = int64_t{1} << 24;

// inputs[i]: the elements of input i in its layout. `double_double`: values are unevaluated sums of two doubles; behind
// all inputs may stand the low parts of each.
Evaluation Evaluate(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> propagations, int64_t most_held = kMostHeld);

// Evaluate for these elements of the output alone, in their order: at the cost of their lanes, term by term.
Evaluation EvaluateElements(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                            bool double_double, std::span<const ErrorRules> propagations,
                            std::span<const int64_t> elements);

// Some of the output's elements: inner[k] + lanes[l] of its layout is number k * lanes.size() + l of each array.
struct EvaluatedBlock {
  std::span<const int64_t> inner, lanes;
  std::span<const double> value, value_lo;
  std::vector<std::span<const double>> reach, beside;  // of each propagation; empty: zeros
};

// Evaluates graphs whose output is too large to be kept as doubles: calls `use` for each block, from several threads at
// once; again for some if the first time did not do. All terms that a reduction joins are in one block. Returns
// Evaluation::any_instead_of_nan.
std::vector<uint8_t> EvaluateBlocks(const Graph& graph, const OutputInfo& output,
                                    std::span<const std::vector<double>> inputs, bool double_double,
                                    std::span<const ErrorRules> propagations,
                                    const std::function<void(const EvaluatedBlock&)>& use,
                                    int64_t most_held = kMostHeld);

}  // namespace assay::formula
