// SPDX-License-Identifier: Apache-2.0
// What operators that are formulas share with those of which a formula says a part: how far results may be from its
// values, and inputs that golden values keep for that.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "golden/golden.h"
#include "harness/data/tensor.h"
#include "ops/formula/evaluate.h"
#include "ops/operator.h"

namespace assay {

// The reach of an element of value y; `wide`: in a plane of doubles. Of values that are far beyond f32 it is enough
// that it keeps them there.
double HeldReach(double reach, double y, bool wide);
// The same of all elements of an evaluation.
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

// The contract's rules for this problem's output in focus; `double_double`: as values are evaluated.
formula::ErrorRules RulesFor(const Problem& problem, const Contract& contract, bool double_double);

}  // namespace assay
