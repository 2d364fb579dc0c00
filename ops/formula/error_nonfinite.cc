// SPDX-License-Identifier: Apache-2.0
// Errors of values that are not finite. By IEEE rules a NaN or an infinity in an operand decides the result, unless the
// error of another operand could change that: infinity times a number that may be zero.
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"
#include "ops/formula/error_loops.h"

namespace assay::formula {
namespace {

enum class Doubt : uint8_t {
  kOrdinary,  // everything is finite: propagated errors hold
  kCertain,   // the value is what every correct implementation has
  kOpen,      // anything may come out
};

struct Element {
  Function function;
  bool last;        // nothing is computed from the result
  bool keeps_sign;  // kernels have the sign of zero that the last operand has
  double range;
  int arity;
  double x[3], reach[3];
  double z;
};

bool MayVanish(const Element& e, int k) {
  return e.reach[k] > 0 && std::fabs(e.x[k]) <= e.reach[k];
}

// Operands are finite, the result is not: a pole, a root of something negative, or too large a number.
Doubt OfFinite(const Element& e) {
  const bool exact = std::all_of(e.reach, e.reach + e.arity, [](double reach) { return reach == 0; });
  switch (e.function) {
    case Function::kDiv:
    case Function::kFloorDivide:
      if (exact && e.x[1] == 0) return e.keeps_sign ? Doubt::kCertain : Doubt::kOpen;
      if (e.x[1] == 0 && MayVanish(e, 0)) return Doubt::kOpen;  // 0 / 0
      return e.last && !MayVanish(e, 1) ? Doubt::kCertain : Doubt::kOpen;
    case Function::kRsqrt:
      if (exact && e.x[0] == 0 && !e.keeps_sign) return Doubt::kOpen;
      [[fallthrough]];
    case Function::kSqrt:
    case Function::kLog:
    case Function::kLog2:
    case Function::kLog10:
    case Function::kLog1p:
      return exact || e.x[0] + e.reach[0] < (e.function == Function::kLog1p ? -1 : 0) ? Doubt::kCertain : Doubt::kOpen;
    case Function::kExp:
      return e.x[0] - e.reach[0] > std::log(e.range) + 1 || (exact && e.last) ? Doubt::kCertain : Doubt::kOpen;
    default:
      return exact && (e.last || std::isnan(e.z)) ? Doubt::kCertain : Doubt::kOpen;
  }
}

// NaN goes through whatever the other operands are; of powers see below.
bool HasCertainNan(const Element& e) {
  if (!std::isnan(e.z) || Info(e.function).rounding == Rounding::kNone || e.function == Function::kPow) return false;
  for (int k = 0; k < e.arity; ++k) {
    if (std::isnan(e.x[k]) && e.reach[k] == 0) return true;
  }
  return false;
}

// A number of an input, at most moved or negated, or computed as it is written. Of other sums and extremes of zeros the
// sign is any.
bool KeepsSignOfZero(const Graph& graph, const Node& node) {
  const bool is_sign = node.function == Function::kNegate || node.function == Function::kAbs;
  const bool moves = node.kind == Kind::kAt || node.kind == Kind::kGather || (node.kind == Kind::kMap && is_sign);
  if (moves) return KeepsSignOfZero(graph, graph.At(node.args[0]));
  const bool is_as_written = node.kind == Kind::kMap && node.strictness == Strictness::kStrict;
  return node.kind == Kind::kIn || node.kind == Kind::kConst || is_as_written;
}

struct Answer {
  Doubt doubt;
  Beside beside = 0;  // see Beside
};

// IEEE 754-2019 (9.2.1) has 1 for 1 to the power of NaN and for NaN to that of 0; kernels by way of logarithms have
// NaN. Whether a base is 1, or an exponent 0, may be a matter of how these are rounded or flushed.
Answer OfPower(const Element& e) {
  const double base = e.x[0], exponent = e.x[1];
  const bool may_have_exponent_zero = std::fabs(exponent) <= e.reach[1];
  const bool may_have_base_one = std::fabs(base - 1) <= e.reach[0];
  if (std::isnan(base) || std::isnan(exponent)) {
    const bool may_be_one = (std::isnan(base) && may_have_exponent_zero) || (std::isnan(exponent) && may_have_base_one);
    return {Doubt::kCertain, may_be_one ? (std::isnan(e.z) ? kBesideOne : kBesideNan) : kNothingBeside};
  }
  const bool finite = std::isfinite(base) && std::isfinite(exponent) && std::isfinite(e.z);
  if (e.reach[0] == 0 && e.reach[1] == 0) return {finite ? Doubt::kOrdinary : Doubt::kCertain};
  // Where the exponent is tiny the power of any positive number is 1, that of others as it is or, with 0, 1.
  const bool is_limit = !(base > 0 && std::isfinite(base));
  if (e.reach[0] == 0 && may_have_exponent_zero && is_limit) return {Doubt::kCertain, kBesideOne};
  return {finite ? Doubt::kOrdinary : Doubt::kOpen};
}

// A condition that may be zero or not leaves both branches.
Doubt OfSelect(const Element& e) {
  const bool is_certain = e.reach[0] == 0 || std::fabs(e.x[0]) > e.reach[0];
  const int first = is_certain && e.x[0] == 0 ? 2 : 1, last = is_certain && e.x[0] != 0 ? 1 : 2;
  if (!(e.reach[first] < kInfinity && e.reach[last] < kInfinity)) return Doubt::kOpen;
  if (std::isfinite(e.x[first]) && std::isfinite(e.x[last])) return Doubt::kOrdinary;
  const bool are_alike = e.x[first] == e.x[last] || (std::isnan(e.x[first]) && std::isnan(e.x[last]));
  return are_alike ? Doubt::kCertain : Doubt::kOpen;
}

Doubt DoubtOf(const Element& e) {
  if (IsCondition(e.function)) return Doubt::kOrdinary;
  if (e.function == Function::kSelect) return OfSelect(e);
  if (HasCertainNan(e)) return Doubt::kCertain;
  bool finite = true;
  for (int k = 0; k < e.arity; ++k) {
    if (!(e.reach[k] < kInfinity)) return Doubt::kOpen;
    finite = finite && std::isfinite(e.x[k]);
  }
  if (finite && std::isfinite(e.z)) return Doubt::kOrdinary;
  if (finite) return OfFinite(e);
  if (e.function == Function::kMul && (MayVanish(e, 0) || MayVanish(e, 1))) return Doubt::kOpen;
  if (e.function == Function::kDiv && MayVanish(e, 1)) return Doubt::kOpen;
  const bool selects = Info(e.function).rounding == Rounding::kNone && e.arity > 1;
  return selects && std::isfinite(e.z) ? Doubt::kOrdinary : Doubt::kCertain;
}

Answer AnswerOf(const Element& e) {
  const bool is_open = std::any_of(e.reach, e.reach + e.arity, [](double reach) { return !(reach < kInfinity); });
  return e.function == Function::kPow && !is_open ? OfPower(e) : Answer{DoubtOf(e)};
}

}  // namespace

void Propagation::MarkNonFinite(const MapStep& step, const Operands& reach, NodeError& error) const {
  const Node& node = NodeAt(step.node);
  const int arity = static_cast<int>(node.args.size());
  bool any = node.function == Function::kPow || AnyNonFinite(step.z, step.n);
  for (int k = 0; k < arity && !any; ++k) any = AnyNonFinite(step.x[k], step.n) || AnyNonFinite(reach[k], step.n);
  if (!any) return;
  const Graph& graph = plan_->graph();
  const bool keeps_sign = rules_.as_written || KeepsSignOfZero(graph, graph.At(node.args.back()));
  Element e{node.function, last_[static_cast<size_t>(step.node)], keeps_sign, rules_.range, arity, {}, {}, 0};
  for (int64_t i = 0; i < step.n; ++i) {
    for (int k = 0; k < arity; ++k) e.x[k] = step.x[k][i], e.reach[k] = reach[k][i];
    e.z = step.z[i];
    auto [doubt, beside] = AnswerOf(e);
    if (doubt == Doubt::kOrdinary) continue;
    for (NodeError::Symbol& symbol : error.symbols) symbol.g[i] = 0;
    const bool is_limit = rules_.as_written && arity == 1 && std::isinf(e.x[0]);
    const bool rounds = std::isfinite(e.z) && !is_limit;
    const Rounding kind = Info(node.function).rounding;
    const bool is_tail = kind == Rounding::kTail;
    const double own = is_tail ? rules_.TailOf(node.function).Of(e.z) : rules_.Of(kind) * std::fabs(e.z);
    const double rounding = rounds ? own : 0;
    error.r[i] = doubt == Doubt::kCertain ? rounding : kInfinity;
    // Sigmoid may be part of another function by then, as of x sigmoid(x), or be by way of a hyperbolic tangent: no
    // zero.
    const bool is_limit_of_sigmoid = node.function == Function::kSigmoid && e.x[0] == -kInfinity;
    if (rules_.rearranges && is_limit_of_sigmoid && doubt == Doubt::kCertain) error.r[i] = rules_.function_lambda;
    const bool is_output = step.node == result_;
    // The reciprocal of the divisor may be flushed: infinity times zero.
    const bool may_lose_reciprocal = node.function == Function::kDiv && std::isinf(e.x[0]) && std::isfinite(e.x[1]) &&
                                     std::fabs(e.x[1]) * rules_.tiny > 0.5;
    if (may_lose_reciprocal) beside |= kBesideNan;
    if (node.updated && is_output && std::isinf(e.z)) beside |= kBesideNan;
    if (!rules_.as_written && !rules_.quadrature) MarkBeside(step.node, static_cast<size_t>(i), beside, error);
  }
}

}  // namespace assay::formula
