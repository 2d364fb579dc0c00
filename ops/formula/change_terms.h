// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc about reductions: terms that are lost or taken twice, means of other terms. Private to it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "ops/formula/change_rules.h"

namespace assay::formula {

// Every kPeriod-th term is left out, the kRest-th of each: a lane that nobody adds.
template <int64_t kPeriod, int64_t kRest>
ChangedExpr LoseLane(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum || !std::has_single_bit(p.node.reduced)) return std::nullopt;
  const Axis axis{std::countr_zero(p.node.reduced), p.graph.ExtentOf(p.node.reduced)};
  if (axis.extent < 2 * kPeriod) return std::nullopt;
  const Expr is_lost = At(Index(p.graph, axis), axis, axis, [](int64_t i) { return i % kPeriod == kRest ? 1 : 0; });
  Node node = p.node;
  node.args[0] = Select(Less(is_lost, Const(p.graph, 1)), p.Arg(0), Const(p.graph, 0)).id;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

constexpr TermRange FirstTerm(int64_t) {
  return {0, 1};
}
constexpr TermRange MiddleTerm(int64_t n) {
  return {n / 2, n / 2 + 1};
}
constexpr TermRange LastTerm(int64_t n) {
  return {n - 1, n};
}
constexpr TermRange AllButFirst(int64_t n) {
  return n > 2 ? TermRange{1, n} : TermRange{};
}
constexpr TermRange FirstHalf(int64_t n) {
  return {0, n / 2};
}
constexpr TermRange SecondHalf(int64_t n) {
  return {n / 2, n};
}
template <int64_t kBlock>
constexpr TermRange FirstBlock(int64_t n) {
  return {0, n > kBlock ? kBlock : 0};
}
// Behind the last whole block of kBlock, or that block. A smaller block that begins there says it, too.
constexpr int64_t kLeastBlock = 4;
template <int64_t kBlock>
constexpr TermRange LastBlock(int64_t n) {
  const int64_t begin = (n - 1) / kBlock * kBlock, of_half = (n - 1) / (kBlock / 2) * (kBlock / 2);
  const bool is_known = kBlock > kLeastBlock && begin == of_half;
  return begin == 0 || is_known || n - begin < 2 ? TermRange{} : TermRange{begin, n};
}
// The last kBlock terms, as a vector that ends with them.
template <int64_t kBlock>
constexpr TermRange LastVector(int64_t n) {
  const int64_t rest = n % kBlock;
  return n < kBlock || rest == 0 ? TermRange{} : TermRange{n - kBlock, n - rest};
}

// A block of terms at the end that is read where other terms lie, as where the loop of the rest begins at a wrong
// place.
enum class TailFrom : uint8_t { kStart, kOwnLength, kBlockBefore };
template <int64_t kBlock, TailFrom kFrom>
ChangedExpr ReadTailFrom(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum || !std::has_single_bit(p.node.reduced)) return std::nullopt;
  const Axis axis{std::countr_zero(p.node.reduced), p.graph.ExtentOf(p.node.reduced)};
  const TermRange tail = LastBlock<kBlock>(axis.extent);
  const int64_t length = tail.end - tail.begin;
  const int64_t from = kFrom == TailFrom::kStart ? 0 : kFrom == TailFrom::kOwnLength ? length : tail.begin - length;
  const bool is_known = kFrom == TailFrom::kBlockBefore && (from == 0 || from == length);
  if (length == 0 || from < 0 || from >= tail.begin || is_known) return std::nullopt;
  Node node = p.node;
  node.args[0] = At(p.Arg(0), axis, axis, [=](int64_t i) { return i < tail.begin ? i : from + i - tail.begin; }).id;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

// Terms of a reduction are left out, for which a number stands that changes nothing, or taken twice.
inline Expr ChangeTermsOf(Graph& graph, Node node, TermRange range, bool twice) {
  const int64_t terms = graph.ExtentOf(node.reduced);
  std::optional<Expr> index;  // of a term, over all reduced axes
  int64_t inner = terms;
  for (AxisSet axes = node.reduced; axes != 0; axes &= axes - 1) {
    const int axis = std::countr_zero(axes);
    const int64_t extent = graph.Extent(axis);
    inner /= extent;
    const Expr along = Index(graph, {axis, extent}) * static_cast<double>(inner);
    index = index ? *index + along : along;
  }
  const auto number = [&](int64_t i) { return Const(graph, static_cast<double>(i)); };
  const Expr term{&graph, node.args[0]};
  const Expr is_kept = Or(Less(*index, number(range.begin)), LessEqual(number(range.end), *index));
  const Expr instead = twice ? term + term : Const(graph, node.kind == Kind::kSum ? 0 : 1);
  node.args[0] = Select(is_kept, term, instead).id;
  node.non_negative = term.node().non_negative;
  node.least = 0;
  return Append(graph, std::move(node));
}

template <TermRange (*kRange)(int64_t), bool kTwice>
ChangedExpr ChangeTerms(const ChangedPlace& p) {
  const bool is_sum = p.node.kind == Kind::kSum;
  if (!is_sum && (kTwice || p.node.kind != Kind::kProd)) return std::nullopt;
  const int64_t terms = p.graph.ExtentOf(p.node.reduced);
  const TermRange range = kRange(terms);
  if (terms < 2 || range.begin == range.end) return std::nullopt;
  return ChangeTermsOf(p.graph, p.node, range, kTwice);
}

// The kNumber-th block of kBlock terms, counted from 0, that is not the last.
template <int64_t kBlock, int64_t kNumber>
constexpr TermRange InnerBlock(int64_t n) {
  const int64_t begin = kBlock * kNumber;
  return begin + kBlock < n ? TermRange{begin, begin + kBlock} : TermRange{};
}

// The mean of the terms in `kRange` alone, as statistics of what one warp or block has.
template <TermRange (*kRange)(int64_t)>
ChangedExpr TakeMeanOfPart(const ChangedPlace& p) {
  const Node* const found = FindSumOfMean(p.graph, p.node);
  if (found == nullptr) return std::nullopt;
  const Node sum = *found;
  const int64_t terms = p.graph.ExtentOf(sum.reduced);
  const TermRange kept = kRange(terms);
  if (kept.end - kept.begin < 1 || kept.end >= terms) return std::nullopt;
  return ChangeTermsOf(p.graph, sum, {kept.end, terms}, false) / static_cast<double>(kept.end);
}
constexpr TermRange AllButLast(int64_t n) {
  return {0, n - 1};
}
template <int64_t kBlock>
constexpr TermRange WholeBlocksOf(int64_t n) {
  const int64_t end = n / kBlock * kBlock, of_half = n / (kBlock / 2) * (kBlock / 2);
  return end == of_half || end == n - 1 ? TermRange{} : TermRange{0, end};
}
template <int64_t kTerms>
constexpr TermRange FirstTerms(int64_t n) {
  return kTerms < n && n / kTerms * kTerms != kTerms && 2 * kTerms != n ? TermRange{0, kTerms} : TermRange{};
}

// Means over other axes: all that the terms have, one that was to stay, a part of those that were to go, these and one
// that was to stay, or that one in place of the first of them.
enum class Along : uint8_t { kAll, kOther, kPart, kMore, kExchanged };
template <Along kAlong, int kNumber>
ChangedExpr TakeMeanAlong(const ChangedPlace& p) {
  const Node* const found = FindSumOfMean(p.graph, p.node);
  if (found == nullptr) return std::nullopt;
  Node sum = *found;
  const AxisSet all = p.graph.At(sum.args[0]).axes, meant = sum.reduced;
  AxisSet left = kAlong == Along::kPart ? meant : all & ~meant;
  for (int i = 0; i < kNumber; ++i) left &= left - 1;
  const AxisSet one = left & (~left + 1), rest = meant & (meant - 1);
  const bool adds = kAlong == Along::kMore || kAlong == Along::kExchanged;
  if (adds && (one == 0 || rest == 0)) return std::nullopt;
  if (kAlong == Along::kMore && (one | meant) == all) return std::nullopt;  // another rule's
  sum.reduced = kAlong == Along::kAll ? all : kAlong == Along::kMore ? meant | one : adds ? rest | one : one;
  if (sum.reduced == 0 || sum.reduced == meant) return std::nullopt;
  sum.axes = all & ~sum.reduced;
  const auto terms = static_cast<double>(p.graph.ExtentOf(sum.reduced));
  return Append(p.graph, std::move(sum)) / terms;
}

// A variance in place of a mean of squares.
inline ChangedExpr SubtractMeanBeforeSquare(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum) return std::nullopt;
  const Node square = p.Arg(0).node();
  if (!Maps(square, Function::kMul) || square.args[0] != square.args[1]) return std::nullopt;
  const Expr x{&p.graph, square.args[0]};
  if (x.node().axes != square.axes) return std::nullopt;
  Node sum = p.node;
  sum.args[0] = x.id;
  sum.non_negative = x.node().non_negative;
  sum.least = 0;
  const Expr from_mean = x - Append(p.graph, std::move(sum)) / static_cast<double>(p.graph.ExtentOf(p.node.reduced));
  Node changed = p.node;
  changed.args[0] = (from_mean * from_mean).id;
  changed.non_negative = from_mean.node().non_negative;
  return Append(p.graph, std::move(changed));
}

// A softmax whose sum has 1 besides, added after the maximum was subtracted.
inline ChangedExpr AddOneToSumOfExponentials(const ChangedPlace& p) {
  const bool is_of_exponentials = p.node.kind == Kind::kSum && Maps(p.Arg(0).node(), Function::kExp);
  return is_of_exponentials ? ChangedExpr(p.self + 1.0) : std::nullopt;
}

// x and what was subtracted from it, where a node is the exponential of their difference.
struct ShiftedExponent {
  Expr x, shift;
};
inline std::optional<ShiftedExponent> FindShift(Graph& graph, const Node& exponential) {
  if (!Maps(exponential, Function::kExp)) return std::nullopt;
  const Node shifted = graph.At(exponential.args[0]);
  const bool is_negated = Maps(shifted, Function::kNegate);
  const Node difference = is_negated ? graph.At(shifted.args[0]) : shifted;
  if (!Maps(difference, Function::kSub)) return std::nullopt;
  return ShiftedExponent{{&graph, difference.args[is_negated ? 1 : 0]}, {&graph, difference.args[is_negated ? 0 : 1]}};
}

// A softmax with one term more, the exponential of 0, as of a key of zeros.
inline ChangedExpr AddExponentialOfZero(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum) return std::nullopt;
  const std::optional<ShiftedExponent> exponent = FindShift(p.graph, p.Arg(0).node());
  return exponent ? ChangedExpr(p.self + Exp(-exponent->shift)) : std::nullopt;
}

}  // namespace assay::formula
