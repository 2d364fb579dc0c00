// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc about factors and weights, and the addends that they are meant for. Private to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ops/formula/change_rules.h"

namespace assay::formula {

// A number or an operand, as a kernel reads it.
inline bool IsRead(Expr factor) {
  return factor.node().kind == Kind::kConst || factor.node().kind == Kind::kIn;
}

inline bool IsSum(const Node& node) {
  return Maps(node, Function::kAdd) || Maps(node, Function::kSub);
}

// k a + b and k (a + b), or differences, where k is read: which addends a factor is meant for.
inline ChangedExpr MoveAddendIntoFactor(const ChangedPlace& p) {
  if (!IsSum(p.node)) return std::nullopt;
  const std::vector<int> factors = p.Arg(0).node().args;
  if (!Maps(p.Arg(0).node(), Function::kMul)) return std::nullopt;
  const Expr left{&p.graph, factors[0]}, factor{&p.graph, factors[1]};
  return IsRead(factor) ? ChangedExpr(MapTo(p.node.function, {left, p.Arg(1)}) * factor) : std::nullopt;
}
template <size_t kAddend>
ChangedExpr TakeFactorOfOneAddend(const ChangedPlace& p) {
  if (!p.Is(Function::kMul) || !IsRead(p.Arg(1)) || !IsSum(p.Arg(0).node())) return std::nullopt;
  const Node sum = p.Arg(0).node();
  std::vector<Expr> addends = {{&p.graph, sum.args[0]}, {&p.graph, sum.args[1]}};
  addends[kAddend] = addends[kAddend] * p.Arg(1);
  return MapTo(sum.function, addends);
}

// A scale of the formula that multiplies one addend more than it should, as of scores and what is added to them.
template <size_t kAddend>
ChangedExpr ScaleAddend(const ChangedPlace& p) {
  if (!IsSum(p.node)) return std::nullopt;
  const auto is_scale = [](const Node& node) {
    return node.kind == Kind::kConst && node.constant != std::trunc(node.constant) && std::fabs(node.constant) >= 0.01;
  };
  const auto scale = std::ranges::find_if(p.graph.nodes, is_scale);
  if (scale == p.graph.nodes.end()) return std::nullopt;
  std::vector<Expr> addends = {p.Arg(0), p.Arg(1)};
  if (IsRead(addends[kAddend])) return std::nullopt;
  addends[kAddend] = addends[kAddend] * scale->constant;
  return MapTo(p.node.function, addends);
}

// An operand by which a result is multiplied, as a weight: with 1 added, as models store it that subtract 1, or twice.
inline std::optional<Expr> FindWeight(const ChangedPlace& p) {
  if (!p.Is(Function::kMul)) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const bool is_result = p.Arg(1 - i).node().kind != Kind::kIn && p.Arg(1 - i).node().kind != Kind::kConst;
    if (p.Arg(i).node().kind == Kind::kIn && p.Arg(i).node().numbers == Numbers::kReal && is_result) return p.Arg(i);
  }
  return std::nullopt;
}
template <int kBy>
ChangedExpr AddToWeight(const ChangedPlace& p) {
  const std::optional<Expr> weight = FindWeight(p);
  if (!weight) return std::nullopt;
  const Expr result = p.node.args[0] == weight->id ? p.Arg(1) : p.Arg(0);
  return result * (*weight + static_cast<double>(kBy));
}
inline ChangedExpr TakeWeightTwice(const ChangedPlace& p) {
  const std::optional<Expr> weight = FindWeight(p);
  return weight ? ChangedExpr(p.self * *weight) : std::nullopt;
}

}  // namespace assay::formula
