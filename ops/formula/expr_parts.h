// SPDX-License-Identifier: Apache-2.0
// Helpers that build expressions. Private to expr.cc and expr_axes.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/formula/expr.h"

namespace assay::formula {

Expr Append(Graph& graph, Node node);

// Requires that all operands of `name` are of one graph.
void RequireOneGraph(std::string_view name, const std::vector<Expr>& x);

// Text for messages.
std::string TextOf(const Graph& graph, Axis axis);
std::string TextOf(Expr x);  // its axes

}  // namespace assay::formula
