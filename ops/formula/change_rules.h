// SPDX-License-Identifier: Apache-2.0
// Rules by which one place of a formula may differ (changes.h), each a row of a table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ops/formula/expr_parts.h"

namespace assay::formula {

using ChangedExpr = std::optional<Expr>;

// A node of the graph that is being made, and its operands there.
struct ChangedPlace {
  Graph& graph;
  const Node node;
  Expr self;

  Expr Arg(size_t i) const { return {&graph, node.args[i]}; }
  bool Is(Function function) const { return Maps(node, function); }
  bool IsFunctionOf(size_t operands) const { return node.kind == Kind::kMap && node.args.size() == operands; }
};

// Some of the terms that are added or multiplied, of `n` in row-major order.
struct TermRange {
  int64_t begin = 0, end = 0;
};

struct ChangeRule {
  ChangedExpr (*make)(const ChangedPlace&);
  std::string_view text = "{0} in place of {1}";  // what stands there, what was meant, how many terms are changed
  TermRange (*terms)(int64_t) = nullptr;
  bool of_alike = false;    // all nodes that are alike are changed with it
  bool of_several = false;  // and there have to be others
  bool moves_axes = false;  // the result may have other axes, as statistics of columns in place of rows
};

// The axes whose terms a rule counts: those of a sum, of the sum of a mean, or that of a recurrence.
AxisSet FindReducedAxes(const Graph& graph, const Node& node);
// The sum of a mean over the number of its terms; null: the node is none.
const Node* FindSumOfMean(const Graph& graph, const Node& node);

std::span<const ChangeRule> ListChangeRules();  // likely mistakes first

}  // namespace assay::formula
