// SPDX-License-Identifier: Apache-2.0
// Helpers that build expressions. Private to expr.cc, expr_axes.cc and change_rules.cc.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "ops/formula/expr.h"

namespace assay::formula {

Expr Append(Graph& graph, Node node);

// The function of these operands, at each index of all their axes.
Expr MapTo(Function function, const std::vector<Expr>& operands);

// The number at each index of these axes.
Expr ConstAlong(Graph& graph, double value, AxisSet axes);

// States that a case is refused which has places along an axis of no elements.
void RefusePlacesInNothing(Expr places, Axis along);

// Sets what is known of the signs of a Kind::kMap, by its operands.
void SetSignsOfMap(const Graph& graph, Node& node);

// Requires that all operands of `name` are of one graph.
void RequireOneGraph(std::string_view name, const std::vector<Expr>& x);

// Axes as "[rows,n]", ascending, for messages. fmt makes the text, when a message is written: most checks hold.
struct AxesText {
  const Graph& graph;
  AxisSet set;
};
inline AxesText TextOf(const Graph& graph, Axis axis) {
  return {graph, SetOf(axis.id)};
}
inline AxesText TextOf(Expr x) {
  return {*x.graph, x.node().axes};
}

}  // namespace assay::formula

template <>
struct fmt::formatter<assay::formula::AxesText> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const assay::formula::AxesText& axes, format_context& context) const -> format_context::iterator;
};
