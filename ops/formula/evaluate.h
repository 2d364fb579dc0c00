// SPDX-License-Identifier: Apache-2.0
// A graph's values, and any number of propagations beside them, in blocks on all threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/formula/error.h"

namespace assay::formula {

struct Evaluation {
  std::vector<double> value, value_lo;      // of the output in its layout; value_lo: in double-double, else empty
  std::vector<std::vector<double>> reach;   // of each propagation
  std::vector<uint8_t> any_instead_of_nan;  // of each: as it says
};

// inputs[i]: the elements of input i in its layout. `double_double`: values are unevaluated sums of two doubles.
Evaluation Evaluate(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> propagations);

}  // namespace assay::formula
