// SPDX-License-Identifier: Apache-2.0
// A graph as some correct implementation computes it: sums in any order, products fused into additions or not,
// differences distributed over factors, divisions or reciprocals, sums of exponentials rescaled on the way, functions
// as bad as the contract says.
#pragma once

#include <span>
#include <vector>

#include "harness/core/model/contract.h"
#include "ops/formula/graph.h"

namespace assay::test {

// The output before it is rounded to its type.
std::vector<double> Simulate(const formula::Graph& graph, const formula::OutputInfo& output,
                             std::span<const std::vector<double>> inputs, const std::vector<DType>& types,
                             const Contract& contract, uint64_t seed);

}  // namespace assay::test
