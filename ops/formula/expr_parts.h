// SPDX-License-Identifier: Apache-2.0
// What expressions of all kinds are made with. Private to expr.cc and expr_axes.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/formula/expr.h"

namespace assay::formula {

Expr Append(Graph& graph, Node node);

// Of operands of what `name` says.
void RequireOneGraph(std::string_view name, const std::vector<Expr>& x);

// As messages have them.
std::string TextOf(const Graph& graph, Axis axis);
std::string TextOf(Expr x);  // its axes

}  // namespace assay::formula
