// SPDX-License-Identifier: Apache-2.0
// Shared by operators that are formulas and by operators that use a formula for a part: the distance that results may
// have from the formula's values, and the inputs that golden values keep to compute it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "golden/golden.h"
#include "harness/core/data/tensor.h"
#include "ops/formula/evaluate.h"
#include "ops/operator.h"

namespace assay {

// Turns reaches of elements with the values y into those that planes hold; `wide`: planes of doubles. Of values that
// are far beyond f32 it is enough that a reach keeps them there.
void HoldReach(std::span<double> reach, const double* y, bool wide);
// The plane of all elements of an evaluation.
std::shared_ptr<const Plane> PlaneOfReach(const std::vector<double>& reach, const formula::Evaluation& evaluation,
                                          bool wide);

// Adds the inputs to a golden value, as planes "input.0", ..., for evaluations under the rules of contracts; and what
// they hold.
void KeepInputs(std::span<const Tensor> inputs, Golden& golden);
std::vector<std::vector<double>> KeptInputs(const Golden& golden, size_t count);

// The axes of a set in ascending order, and the results of node k along axes in some order. inputs[i]: the elements of
// input i.
std::vector<int> ListAxes(const formula::Graph& graph, formula::AxisSet set);
std::vector<double> ValuesAt(const formula::Graph& graph, size_t k, const std::vector<int>& axes,
                             const std::vector<std::vector<double>>& inputs);

// The largest number of terms that a sum of the graph has.
double MostTerms(const formula::Graph& graph);

// Whether the output is the larger or the smaller number of two operands, as they are.
bool IsExtremeOfTwo(const formula::Graph& graph);

// The contract's rules for this output of the problem; `double_double`: as values are evaluated.
formula::ErrorRules RulesFor(const Problem& problem, size_t output, const Contract& contract, bool double_double);

}  // namespace assay
