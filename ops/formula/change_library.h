// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc that public bug reports taught: lanes of padding that count, whole numbers that are rounded
// or cut off another way, exponentials without their fraction or without the maximum. Private to it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "ops/formula/change_rules.h"
#include "ops/formula/change_terms.h"

namespace assay::formula {

// An expression where all operands that have an axis are 0, as in the lanes of a block behind the last element.
class AtZeros {
 public:
  explicit AtZeros(int axis) : axis_(axis) {}

  std::optional<Expr> Of(Expr x) {
    const auto known = made_.find(x.id);
    if (known != made_.end()) return known->second;
    return made_[x.id] = Make(x);
  }

 private:
  std::optional<Expr> Make(Expr x) {
    const Node node = x.node();
    if ((node.axes >> axis_ & 1) == 0) return x;
    if (node.kind == Kind::kIn) return Const(*x.graph, 0);
    if (node.kind != Kind::kMap) return std::nullopt;
    std::vector<Expr> operands;
    for (const int arg : node.args) {
      const std::optional<Expr> operand = Of({x.graph, arg});
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return MapTo(node.function, operands);
  }

  int axis_;
  std::map<int, std::optional<Expr>> made_;  // by nodes
};

// How many lanes of blocks of kBlock lie behind n terms; of kBlock = 0 those of the next power of two.
template <int64_t kBlock>
constexpr TermRange PaddingOf(int64_t n) {
  const auto whole = [n](int64_t block) { return (n + block - 1) / block * block; };
  if (kBlock == 0) return {0, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))) - n};
  return whole(kBlock) == whole(kBlock / 2) && kBlock > 8 ? TermRange{} : TermRange{0, whole(kBlock) - n};
}

template <int64_t kBlock>
ChangedExpr AddPadding(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum || !std::has_single_bit(p.node.reduced)) return std::nullopt;
  const int64_t lanes = PaddingOf<kBlock>(p.graph.ExtentOf(p.node.reduced)).end;
  const std::optional<Expr> term = AtZeros(std::countr_zero(p.node.reduced)).Of(p.Arg(0));
  if (lanes == 0 || !term || term->node().kind == Kind::kConst) return std::nullopt;
  return p.self + *term * static_cast<double>(lanes);
}

// The largest value of numbers that no operand changes, as of how many elements a window has.
inline std::optional<double> LargestCount(Expr x) {
  const Node& node = x.node();
  if (node.kind == Kind::kConst) return node.constant;
  if (node.kind == Kind::kAt && x.graph->At(node.args[0]).kind == Kind::kIndex && !node.index.empty())
    return static_cast<double>(*std::ranges::max_element(node.index));
  if (!Maps(node, Function::kMul)) return std::nullopt;
  const auto left = LargestCount({x.graph, node.args[0]}), right = LargestCount({x.graph, node.args[1]});
  return left && right ? std::optional(*left * *right) : std::nullopt;
}

inline ChangedExpr DivideByWholeWindow(const ChangedPlace& p) {
  if (!p.Is(Function::kDiv) || p.Arg(1).node().kind == Kind::kConst) return std::nullopt;
  const std::optional<double> count = LargestCount(p.Arg(1));
  return count && *count > 0 ? ChangedExpr(p.Arg(0) / *count) : std::nullopt;
}

// All that a condition is asked of counts, as rows that are to be ignored.
inline ChangedExpr CountAll(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum || p.Arg(0).node().numbers != Numbers::kCondition) return std::nullopt;
  return ConstAlong(p.graph, static_cast<double>(p.graph.ExtentOf(p.node.reduced)), p.node.axes);
}

// A value that is cut off at both ends of an integer type's range, and these.
struct CutOff {
  Expr value;
  double low, high;
};
inline std::optional<CutOff> FindCutOff(const ChangedPlace& p) {
  if (!p.Is(Function::kMaximum) || !Maps(p.Arg(0).node(), Function::kMinimum)) return std::nullopt;
  const Node& least = p.Arg(1).node();
  const Node& inner = p.Arg(0).node();
  const Node& most = p.graph.At(inner.args[1]);
  const bool is_of_integers = least.kind == Kind::kConst && most.kind == Kind::kConst && least.constant <= 0 &&
                              std::has_single_bit(static_cast<uint64_t>(most.constant - least.constant) + 1);
  if (!is_of_integers) return std::nullopt;
  return CutOff{{&p.graph, inner.args[0]}, least.constant, most.constant};
}

// Floor and its relatives, of which one stands in place of the nearest integer.
inline Expr Floor(Expr x) {
  return FloorDivide(x, Const(*x.graph, 1));
}
inline Expr ToZero(Expr x) {
  return Select(Less(x, Const(*x.graph, 0)), -Floor(-x), Floor(x));
}
inline Expr Ceiling(Expr x) {
  return -Floor(-x);
}
template <Expr (*kRounding)(Expr)>
ChangedExpr RoundBeforeCutOff(const ChangedPlace& p) {
  const std::optional<CutOff> of = FindCutOff(p);
  if (!of) return std::nullopt;
  return Maximum(Minimum(kRounding(of->value), Const(p.graph, of->high)), Const(p.graph, of->low));
}
inline ChangedExpr WrapRound(const ChangedPlace& p) {
  const std::optional<CutOff> of = FindCutOff(p);
  if (!of) return std::nullopt;
  const Expr nearest = Nearest(of->value), period = Const(p.graph, of->high - of->low + 1);
  return nearest - FloorDivide(nearest - of->low, period) * period;
}

// Two to the power of the exponent's integer alone, as of bits that are put together without a polynomial.
inline ChangedExpr LeaveOutFraction(const ChangedPlace& p) {
  constexpr double kLogOfE = 0x1.71547652b82fep+0;  // in base 2
  return p.Is(Function::kExp) ? ChangedExpr(Exp2(Floor(p.Arg(0) * kLogOfE))) : std::nullopt;
}

// An exponential whose maximum was not subtracted before, which is infinite where f32 has no number for it.
inline ChangedExpr Overflow(const ChangedPlace& p) {
  constexpr double kLargest = 0x1.62e42ep+6;  // whose exponential is one of f32
  const std::optional<ShiftedExponent> exponent = FindShift(p.graph, p.node);
  if (!exponent || exponent->shift.node().kind != Kind::kMax) return std::nullopt;
  const Expr infinity = Const(p.graph, std::numeric_limits<double>::infinity());
  return Select(Less(Const(p.graph, kLargest), exponent->x), infinity, Exp(exponent->x));
}

}  // namespace assay::formula
