// SPDX-License-Identifier: Apache-2.0
// The tree by which an implementation adds the terms of a sum, as masked probes reveal it (FPRev: Xie et al., Revealing
// Floating-Point Accumulation Orders in Software/Hardware Implementations, 2024). Of the terms, i is a number so large
// that it absorbs all others, j its negative, and each of the rest one unit: the units that are added before i and j
// meet are lost, so that the sum is the number of terms outside of the smallest subtree with both.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

// A sum of its children, in ascending order of their first terms; or a term, which has none. More than two children are
// added together, without a rounding between them that shows.
struct SumTree {
  int term = 0;  // the first one below
  int terms = 1;
  std::vector<SumTree> children;
  bool operator==(const SumTree&) const = default;
};

// Terms i and j of each probe, and the number of terms in the smallest subtree with both.
using TermPairs = std::vector<std::pair<int, int>>;
using AskSubtrees = std::function<Result<std::vector<int>>(const TermPairs&)>;

// The tree of `terms` >= 1 terms. It asks for as few pairs as their answers allow, many at a time. Errors: those of
// `ask`; answers that no tree has, as where the order depends on the data.
Result<SumTree> RevealSumTree(int terms, const AskSubtrees& ask);

// "(0:4:60 + 1:4:61) + 2 + 6": added from left to right, a:step:b term by term, "(...)" as a sum of its own, and
// "{...}" all together.
std::string TextOf(const SumTree& tree);
// In words where it has one of a few common forms: "one after the other", "16 interleaved sums, ..."; else its depth.
std::string DescribeSumTree(const SumTree& tree);
int DepthOf(const SumTree& tree);     // levels of sums; 0 of a term
int WidestNode(const SumTree& tree);  // most children of a sum
// Equal orders have equal hashes.
std::string HashOf(const SumTree& tree);
// A drawing of its own, terms from left to right.
std::string DrawSumTree(const SumTree& tree, const std::string& title);

// The sum of `terms` in this order by `add`, which gets the children's sums; a term is given by `leaf`.
double SumInOrder(const SumTree& tree, const std::function<double(int)>& leaf,
                  const std::function<double(const SumTree&, std::span<const double>)>& add);

}  // namespace assay
