// SPDX-License-Identifier: Apache-2.0
// Values that intermediates outside of double's range have made useless, computed again in binary128.
#pragma once

#include <span>
#include <vector>

#include "ops/formula/evaluate.h"

namespace assay::formula {

// Replaces each element of the evaluation whose reach, that of propagation 0, is infinite: by the graph's value in
// binary128 (113 bits, 15 of the exponent), rounded to a double, or to the sum of two where the evaluation has these.
void ReplaceUnbounded(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                      Evaluation& evaluation);

}  // namespace assay::formula
