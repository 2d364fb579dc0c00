// SPDX-License-Identifier: Apache-2.0
// The relations that operators share; an operator's own are in its ops/relations_<op>.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/relation.h"
#include "ops/slices.h"

namespace assay {

// The problem with some attributes changed. Precondition: the operator binds it.
Problem Rebind(const Operator& op, const Problem& problem, const AttrList& changes);
// Rebind that returns nullopt if the operator refuses the problem.
std::optional<Problem> TryRebind(const Operator& op, const Problem& problem, const AttrList& changes);

// The slices in reverse order (of an odd number the first stays), as a claim or a property.
Relation Reversed(std::string name, Claim claim, const SliceAxes& axes);
// Other numbers of slices; `resized(n)` sets the attribute that counts them to n (a list may hold it). Relations
// "<name>1", "<name>_part" of about half, "<name>7" and "<name>17", where these are fewer and the operator takes them;
// where it is cheap, also more, with the slices again and again: "<name>64" and "<name>129".
std::vector<Relation> Prefixes(const Operator& op, const Problem& problem, const std::string& name,
                               const SliceAxes& axes, const std::function<AttrList(int64_t)>& resized);

// The inputs `scaled` times -1; the output times `sign`. Integers that have no negative are left out.
Relation Negated(std::vector<int> scaled, double sign = -1);

// The inputs `scaled` times 2^k, and with them the output. Data whose products, or sums of `terms` of them, may leave
// the accumulator's normal numbers are left out, as are elements that leave those of the output.
struct ScaleSpec {
  std::vector<int> scaled;   // inputs that get the factor
  std::vector<int> factors;  // inputs that the products are made of
  double terms = 1;
  double gain_low = 1, gain_high = 1;  // of further factors: alpha, 1/n
};
Relation Scaled(Claim claim, const ScaleSpec& spec);

// Terms in reverse order along axes where each output element keeps its terms: it stays within the bound of the golden
// value that is there.
Relation TermOrder(std::vector<SliceAxes> axes);

// The bound's tolerance for each element of a golden value; infinite where the exceptional channel decides.
std::vector<double> Tolerances(const Golden& golden, const BoundModel& bound);

// Inputs that are judged by their golden value and the contract's bound; finite golden values alone.
OtherExecution JudgedByBound(const ExecutedSet& executed, const Problem& problem, std::vector<Tensor> inputs);

std::vector<Tensor> Clones(std::span<const Tensor> tensors);
// In the tensor's type, rounded where that does not hold it.
Tensor Times(const Tensor& tensor, double factor);
bool AllFinite(const Tensor& tensor);

// All of `more` at the end of `all`.
void Append(std::vector<Relation>& all, std::vector<Relation> more);

}  // namespace assay
