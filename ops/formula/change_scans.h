// SPDX-License-Identifier: Apache-2.0
// Rules of change_rules.cc about recurrences and elements that are selected by their places. Private to it.
#pragma once

#include <bit>
#include <functional>
#include <map>

#include "ops/formula/change_rules.h"

namespace assay::formula {

// An exclusive sum or product has the terms before its own alone.
inline ChangedExpr ExcludeOwnTerm(const ChangedPlace& p) {
  if (p.node.kind != Kind::kRecur) return std::nullopt;
  if (p.node.args.size() == 1) return p.self - p.Arg(0);
  const Axis axis{p.node.axis, p.graph.Extent(p.node.axis)};
  const Expr before = At(p.self, axis, axis, [](int64_t i) { return i - 1; });
  return Select(Less(Index(p.graph, axis), Const(p.graph, 1)), Const(p.graph, 1), before);
}

// Reads numbers from the last place to the first; places that they are compared with are left. Each node is reversed
// once: their paths may be more than anybody can follow.
class Reversal {
 public:
  explicit Reversal(const Axis& axis) : axis_(axis) {}

  Expr Reverse(Expr x) {
    const auto known = reversed_.find(x.id);
    if (known != reversed_.end()) return known->second;
    return reversed_[x.id] = Make(x);
  }

 private:
  Expr Make(Expr x) {
    const Node node = x.node();
    if (!Has(node.axes, axis_.id) || node.kind == Kind::kIndex) return x;
    if (node.kind != Kind::kMap) return At(x, axis_, axis_, [n = axis_.extent](int64_t i) { return n - 1 - i; });
    std::vector<Expr> operands;
    for (const int arg : node.args) operands.push_back(Reverse({x.graph, arg}));
    return MapTo(node.function, operands);
  }

  Axis axis_;
  std::map<int, Expr> reversed_;  // by nodes
};

inline ChangedExpr ScanFromEnd(const ChangedPlace& p) {
  if (p.node.kind != Kind::kRecur) return std::nullopt;
  Reversal reversal({p.node.axis, p.graph.Extent(p.node.axis)});
  Node node = p.node;
  for (int& arg : node.args) arg = reversal.Reverse({&p.graph, arg}).id;
  return reversal.Reverse(Append(p.graph, std::move(node)));
}

inline bool IsGatedRecurrence(const ChangedPlace& p) {
  return p.node.kind == Kind::kRecur && p.node.args.size() == 2;
}

// A recurrence of these steps, in place of the one that is there.
inline Expr RecurOf(const ChangedPlace& p, const Expr& gate, const Expr& addend) {
  return Recur(gate, addend, {p.node.axis, p.graph.Extent(p.node.axis)});
}

// Takes the result of the step before, as where it is read before it is written.
inline ChangedExpr TakeStepBefore(const ChangedPlace& p) {
  if (!IsGatedRecurrence(p)) return std::nullopt;
  const Axis axis{p.node.axis, p.graph.Extent(p.node.axis)};
  return At(p.self, axis, axis, [](int64_t i) { return i - 1; });
}

// Steps that take nothing over.
inline ChangedExpr TakeAddendAlone(const ChangedPlace& p) {
  return IsGatedRecurrence(p) && p.Arg(1).node().axes == p.node.axes ? ChangedExpr(p.Arg(1)) : std::nullopt;
}

// h_t = a_t (h_(t-1) + b_t), of pairs that are joined the other way round.
inline ChangedExpr MultiplyAddend(const ChangedPlace& p) {
  return IsGatedRecurrence(p) ? ChangedExpr(RecurOf(p, p.Arg(0), p.Arg(1) * p.Arg(0))) : std::nullopt;
}

inline ChangedExpr BeginAtOne(const ChangedPlace& p) {
  if (!IsGatedRecurrence(p)) return std::nullopt;
  const Expr place = Index(p.graph, {p.node.axis, p.graph.Extent(p.node.axis)}), zero = Const(p.graph, 0);
  return RecurOf(p, p.Arg(0), p.Arg(1) + Select(Less(place, Const(p.graph, 1)), p.Arg(0), zero));
}

// Forgets what was before these steps, as where blocks are scanned and a carry is not added.
inline ChangedExpr BeginAnewWhere(const ChangedPlace& p, const std::function<bool(int64_t)>& begins) {
  const Axis axis{p.node.axis, p.graph.Extent(p.node.axis)};
  const Expr step = At(Index(p.graph, axis), axis, axis, [&](int64_t i) { return begins(i) ? 0 : 1; });
  const Expr goes_on = Select(Less(step, Const(p.graph, 1)), Const(p.graph, 0), Const(p.graph, 1));
  return p.node.args.size() == 1 ? Recur(goes_on, p.Arg(0), axis) : RecurOf(p, p.Arg(0) * goes_on, p.Arg(1));
}
template <int64_t kSteps>
ChangedExpr BeginEachBlockAnew(const ChangedPlace& p) {
  if (p.node.kind != Kind::kRecur || p.graph.Extent(p.node.axis) <= kSteps) return std::nullopt;
  return BeginAnewWhere(p, [](int64_t i) { return i % kSteps == 0; });
}
// One block of several has no carry: the second, third, fourth or last one.
enum class OneBlock : uint8_t { kSecond, kThird, kFourth, kLast };
template <int64_t kSteps, OneBlock kWhich>
constexpr TermRange StartOfBlock(int64_t n) {
  const int64_t blocks = (n + kSteps - 1) / kSteps;
  const int64_t number = kWhich == OneBlock::kLast ? blocks - 1 : static_cast<int64_t>(kWhich) + 1;
  const bool is_two = std::has_single_bit(static_cast<uint64_t>(number * kSteps)) && 2 * number * kSteps >= n;
  const bool is_known = is_two || (kWhich == OneBlock::kLast && number < 4);  // two blocks, of which each begins anew
  return blocks < 3 || number >= blocks || is_known ? TermRange{} : TermRange{0, number * kSteps};
}
template <int64_t kSteps, OneBlock kWhich>
ChangedExpr BeginOneBlockAnew(const ChangedPlace& p) {
  if (p.node.kind != Kind::kRecur) return std::nullopt;
  const int64_t start = StartOfBlock<kSteps, kWhich>(p.graph.Extent(p.node.axis)).end;
  return start == 0 ? std::nullopt : BeginAnewWhere(p, [start](int64_t i) { return i == start; });
}

// Elements that stay at their places where others become 0: those that become 0 in place of them, as by a mask that is
// inverted.
inline ChangedExpr InvertPlaces(const ChangedPlace& p) {
  const int64_t places = std::ssize(p.node.index);
  if (p.node.kind != Kind::kAt || !p.node.more_from.empty() || p.graph.Extent(p.node.from_axis) != places) {
    return std::nullopt;
  }
  Node node = p.node;
  bool has_zero = false;
  for (int64_t i = 0; i < places; ++i) {
    int64_t& place = node.index[static_cast<size_t>(i)];
    if (place >= 0 && place != i) return std::nullopt;
    has_zero = has_zero || place < 0;
    place = place < 0 ? i : -1;
  }
  return has_zero ? ChangedExpr(Append(p.graph, std::move(node))) : std::nullopt;
}

}  // namespace assay::formula
