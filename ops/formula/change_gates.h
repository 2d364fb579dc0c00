// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc about gates and activations, which are taken for others of their kind. Private to it.
#pragma once

#include <cmath>

#include "ops/formula/change_rules.h"

namespace assay::formula {

// Gates that are taken for those of quick_gelu and of gelu.
inline ChangedExpr TakeQuickGate(const ChangedPlace& p) {
  return p.Is(Function::kSigmoid) ? ChangedExpr(Sigmoid(p.Arg(0) * 1.702)) : std::nullopt;
}
inline ChangedExpr TakeNormalGate(const ChangedPlace& p) {
  return p.Is(Function::kSigmoid) ? ChangedExpr((Erf(p.Arg(0) * M_SQRT1_2) + 1) * 0.5) : std::nullopt;
}
inline ChangedExpr TakeNormalGateByTanh(const ChangedPlace& p) {
  if (!p.Is(Function::kSigmoid)) return std::nullopt;
  const Expr x = p.Arg(0);
  return (Tanh((x + x * x * x * 0.044715) * (M_SQRT1_2 * M_2_SQRTPI)) + 1) * 0.5;
}

inline bool IsConstant(const Expr& x, double value) {
  return x.node().kind == Kind::kConst && x.node().constant == value;
}

// The operand that a gate of erf or tanh was made of: the first of the innermost product or sum that is no constant.
inline Expr FindGated(Expr x) {
  while (x.node().kind == Kind::kMap && x.node().args.size() == 2) {
    const Node node = x.node();
    const Expr first{x.graph, node.args[0]}, second{x.graph, node.args[1]};
    const bool is_scaled = Maps(node, Function::kMul) || Maps(node, Function::kDiv);
    if (!Maps(node, Function::kAdd) &&
        !(is_scaled && (first.node().kind == Kind::kConst) != (second.node().kind == Kind::kConst)))
      break;
    x = first.node().kind == Kind::kConst ? second : first;
  }
  return x;
}

// The gate of quick_gelu for that of gelu, by erf or tanh, of which 1 - erf(-x) is a function of its own.
inline ChangedExpr TakeQuickGateForNormal(const ChangedPlace& p) {
  const bool is_own = p.Is(Function::kOneMinusErf) || p.Is(Function::kOneMinusTanh);
  const auto is_gate = [&](size_t i) {
    return Maps(p.Arg(i).node(), Function::kErf) || Maps(p.Arg(i).node(), Function::kTanh);
  };
  const bool is_sum =
      p.Is(Function::kAdd) && ((is_gate(0) && IsConstant(p.Arg(1), 1)) || (is_gate(1) && IsConstant(p.Arg(0), 1)));
  if (!is_own && !is_sum) return std::nullopt;
  const Expr of = is_own ? p.Arg(0) : Expr{&p.graph, p.Arg(is_gate(0) ? 0 : 1).node().args[0]};
  return Sigmoid(FindGated(of) * 1.702) * 2.0;
}

// A relu in place of silu or gelu: a product of x with a gate of it.
inline ChangedExpr TakeRelu(const ChangedPlace& p) {
  if (!p.Is(Function::kMul)) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Expr gate = p.Arg(1 - i);
    const bool is_gate = Maps(gate.node(), Function::kSigmoid) || Maps(gate.node(), Function::kOneMinusErf) ||
                         Maps(gate.node(), Function::kOneMinusTanh);
    if (!is_gate) continue;
    const Expr of{&p.graph, gate.node().args[0]}, x = FindGated(p.Arg(i));
    if (FindGated(of).id == x.id) return MapTo(Function::kMaximum, {x, Const(p.graph, 0)});
  }
  return std::nullopt;
}

// log(1 + exp(2 x)) / 2, where what stands above zero is kept apart.
inline ChangedExpr TakeSoftplusOfTwo(const ChangedPlace& p) {
  if (!p.Is(Function::kAdd) || !Maps(p.Arg(0).node(), Function::kMaximum)) return std::nullopt;
  if (!Maps(p.Arg(1).node(), Function::kLog1p)) return std::nullopt;
  const Expr x{&p.graph, p.Arg(0).node().args[0]}, twice = x * 2.0;
  return (MapTo(Function::kMaximum, {twice, Const(p.graph, 0)}) + MapTo(Function::kLog1p, {Exp(-Abs(twice))})) * 0.5;
}

}  // namespace assay::formula
