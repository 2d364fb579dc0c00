// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc about one node: other operands, another function, another constant. Private to it.
#pragma once

#include <cmath>

#include "ops/formula/change_rules.h"

namespace assay::formula {

template <size_t kOperand, size_t kOf>
ChangedExpr TakeOperand(const ChangedPlace& p) {
  return p.IsFunctionOf(kOf) ? ChangedExpr(p.Arg(kOperand)) : std::nullopt;
}

inline ChangedExpr ExchangeOperands(const ChangedPlace& p) {
  const bool symmetric = p.Is(Function::kAdd) || p.Is(Function::kMul) || p.Is(Function::kMaximum) ||
                         p.Is(Function::kMinimum) || p.Is(Function::kEqual) || p.Is(Function::kAnd) ||
                         p.Is(Function::kOr);
  if (!p.IsFunctionOf(2) || symmetric) return std::nullopt;
  return MapTo(p.node.function, {p.Arg(1), p.Arg(0)});
}

inline ChangedExpr ExchangeBranches(const ChangedPlace& p) {
  if (!p.Is(Function::kSelect)) return std::nullopt;
  return MapTo(Function::kSelect, {p.Arg(0), p.Arg(2), p.Arg(1)});
}

template <Function kFrom, Function kTo>
ChangedExpr Replace(const ChangedPlace& p) {
  if (!p.Is(kFrom)) return std::nullopt;
  std::vector<Expr> operands;
  for (size_t i = 0; i < p.node.args.size(); ++i) operands.push_back(p.Arg(i));
  return MapTo(kTo, operands);
}

inline ChangedExpr NegateResult(const ChangedPlace& p) {
  return p.Is(Function::kMul) || p.node.kind == Kind::kSum ? ChangedExpr(-p.self) : std::nullopt;
}

// A kernel may add an epsilon to the root instead of what is under it.
inline ChangedExpr MoveAddendOutOfRoot(const ChangedPlace& p) {
  if (!p.Is(Function::kSqrt) && !p.Is(Function::kRsqrt)) return std::nullopt;
  const Node& sum = p.Arg(0).node();
  if (!Maps(sum, Function::kAdd)) return std::nullopt;
  const Expr left{&p.graph, sum.args[0]}, right{&p.graph, sum.args[1]};
  if (right.node().kind != Kind::kConst) return std::nullopt;
  const Expr moved = Sqrt(left) + right;
  return p.Is(Function::kSqrt) ? moved : 1.0 / moved;
}

template <auto kNumber>
ChangedExpr ReplaceConstant(const ChangedPlace& p) {
  if (p.node.kind != Kind::kConst) return std::nullopt;
  const double value = kNumber(p.node.constant);
  if (!std::isfinite(value) || value == p.node.constant) return std::nullopt;
  return Const(p.graph, value);
}

inline double OneLess(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x - 1 : x;
}
inline double OneMore(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x + 1 : x;
}
inline double ToNothing(double) {
  return 0;
}
inline double Negative(double x) {
  return -x;
}
inline double Twice(double x) {
  return 2 * x;
}
inline double Half(double x) {
  return x / 2;
}
inline double Square(double x) {
  return x * x;
}
inline double Root(double x) {
  return std::sqrt(std::fabs(x));
}
inline double Inverse(double x) {
  return 1 / x;
}
template <int kPower>
double Decades(double x) {
  return std::fabs(x) < 0.01 ? x * std::pow(10.0, kPower) : x;  // an epsilon
}

// A count of elements, padded.
template <int kBlock>
double WholeBlocks(double x) {
  return x == std::trunc(x) && x > kBlock ? std::ceil(x / kBlock) * kBlock : x;
}

inline ChangedExpr ReplaceSumByMean(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum) return std::nullopt;
  return p.self / static_cast<double>(p.graph.ExtentOf(p.node.reduced));
}

template <Kind kFrom, Kind kTo>
ChangedExpr ReplaceReduction(const ChangedPlace& p) {
  if (p.node.kind != kFrom) return std::nullopt;
  Node node = p.node;
  node.kind = kTo;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

constexpr double kLogOf2 = 0x1.62e42fefa39efp-1;

// The exponential and the logarithm in base 2, without the factor that makes them those in base e, or with a factor of
// five digits.
inline ChangedExpr TakeExponentialOfTwo(const ChangedPlace& p) {
  return p.Is(Function::kExp) ? ChangedExpr(Exp(p.Arg(0) * kLogOf2)) : std::nullopt;
}
inline ChangedExpr TakeLogarithmOfTwo(const ChangedPlace& p) {
  return p.Is(Function::kLog) ? ChangedExpr(p.self / kLogOf2) : std::nullopt;
}
inline ChangedExpr TakeShortLogarithmOfE(const ChangedPlace& p) {
  return p.Is(Function::kExp) ? ChangedExpr(Exp(p.Arg(0) * (1.4427 * kLogOf2))) : std::nullopt;
}

inline ChangedExpr ReduceMagnitudes(const ChangedPlace& p) {
  if (!IsReduction(p.node.kind) || p.Arg(0).node().non_negative) return std::nullopt;
  Node node = p.node;
  node.args[0] = Abs(p.Arg(0)).id;
  return Append(p.graph, std::move(node));
}

// Its accumulator starts at 0 instead of at the least number.
inline ChangedExpr StartAtZero(const ChangedPlace& p) {
  if (p.node.kind != Kind::kMax && p.node.kind != Kind::kMin) return std::nullopt;
  const Function function = p.node.kind == Kind::kMax ? Function::kMaximum : Function::kMinimum;
  return MapTo(function, {p.self, Const(p.graph, 0)});
}

template <int kBy>
ChangedExpr MoveElements(const ChangedPlace& p) {
  if (p.node.kind != Kind::kAt || !p.node.more_from.empty()) return std::nullopt;
  const int64_t extent = p.graph.Extent(p.node.from_axis);
  Node node = p.node;
  for (int64_t& place : node.index) place = place < 0 ? place : (place + kBy + extent) % extent;
  return Append(p.graph, std::move(node));
}

// Elements of blocks, as query heads that share a key head, are taken in turn.
inline ChangedExpr ReadInTurn(const ChangedPlace& p) {
  if (p.node.kind != Kind::kAt || !p.node.more_from.empty()) return std::nullopt;
  const int64_t extent = p.graph.Extent(p.node.from_axis), places = std::ssize(p.node.index);
  if (extent < 2 || places <= extent || places % extent != 0) return std::nullopt;
  Node node = p.node;
  for (int64_t i = 0; i < places; ++i) {
    if (node.index[static_cast<size_t>(i)] != i / (places / extent)) return std::nullopt;
    node.index[static_cast<size_t>(i)] = i % extent;
  }
  return Append(p.graph, std::move(node));
}

// One over what stands under a root.
inline ChangedExpr LeaveOutRoot(const ChangedPlace& p) {
  return p.Is(Function::kRsqrt) ? ChangedExpr(1.0 / p.Arg(0)) : std::nullopt;
}

template <bool kFurther>
ChangedExpr MoveIndex(const ChangedPlace& p) {
  if (p.node.kind != Kind::kIndex) return std::nullopt;
  return kFurther ? p.self + 1.0 : p.self - 1.0;
}

}  // namespace assay::formula
