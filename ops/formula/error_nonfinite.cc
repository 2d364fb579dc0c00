// SPDX-License-Identifier: Apache-2.0
// What errors mean where values are not finite. By IEEE rules a NaN or an infinity that goes in decides what comes out,
// unless an operand's error could change that: infinity times what may be zero.
#include <algorithm>
#include <cmath>

#include "harness/data/infinity.h"
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
  bool last;  // nothing is computed from the result
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
      return exact && e.x[1] == 0 ? Doubt::kCertain : (e.last && !MayVanish(e, 1) ? Doubt::kCertain : Doubt::kOpen);
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kLog:
    case Function::kLog1p:
      return exact || e.x[0] + e.reach[0] < (e.function == Function::kLog1p ? -1 : 0) ? Doubt::kCertain : Doubt::kOpen;
    case Function::kExp:
      return e.x[0] - e.reach[0] > std::log(e.range) + 1 || (exact && e.last) ? Doubt::kCertain : Doubt::kOpen;
    default:
      return e.last && exact ? Doubt::kCertain : Doubt::kOpen;
  }
}

// NaN goes through whatever the other operands are.
bool HasCertainNan(const Element& e) {
  if (!std::isnan(e.z) || Info(e.function).rounding == Rounding::kNone) return false;
  for (int k = 0; k < e.arity; ++k) {
    if (std::isnan(e.x[k]) && e.reach[k] == 0) return true;
  }
  return false;
}

// Infinity to the power of what may be zero; and 1 to that of NaN and NaN to that of 0, which are 1 and which kernels
// by way of logarithms do not know.
Doubt OfPower(const Element& e) {
  const bool is_exact = e.reach[0] == 0 && e.reach[1] == 0;
  const bool has_nan = std::isnan(e.x[0]) || std::isnan(e.x[1]);
  return is_exact && (!has_nan || std::isnan(e.z)) ? Doubt::kCertain : Doubt::kOpen;
}

Doubt DoubtOf(const Element& e) {
  if (HasCertainNan(e)) return Doubt::kCertain;
  bool finite = true;
  for (int k = 0; k < e.arity; ++k) {
    if (e.function == Function::kSelect && k > 0 && e.reach[0] == 0 && (k == 1) != (e.x[0] != 0)) continue;
    if (!(e.reach[k] < kInfinity)) return Doubt::kOpen;
    finite = finite && std::isfinite(e.x[k]);
  }
  if (finite && std::isfinite(e.z)) return Doubt::kOrdinary;
  if (e.function == Function::kPow && !finite) return OfPower(e);
  if (finite) return OfFinite(e);
  if (e.function == Function::kMul && (MayVanish(e, 0) || MayVanish(e, 1))) return Doubt::kOpen;
  if (e.function == Function::kDiv && MayVanish(e, 1)) return Doubt::kOpen;
  const bool selects = Info(e.function).rounding == Rounding::kNone && e.arity > 1;
  return selects && std::isfinite(e.z) ? Doubt::kOrdinary : Doubt::kCertain;
}

}  // namespace

void Propagation::MarkNonFinite(const MapStep& step, const Operands& reach, NodeError& error) const {
  const Node& node = NodeAt(step.node);
  const int arity = static_cast<int>(node.args.size());
  bool any = AnyNonFinite(step.z, step.n);
  for (int k = 0; k < arity && !any; ++k) any = AnyNonFinite(step.x[k], step.n) || AnyNonFinite(reach[k], step.n);
  if (!any) return;
  Element e{node.function, last_[static_cast<size_t>(step.node)], rules_.range, arity, {}, {}, 0};
  for (int64_t i = 0; i < step.n; ++i) {
    for (int k = 0; k < arity; ++k) e.x[k] = step.x[k][i], e.reach[k] = reach[k][i];
    e.z = step.z[i];
    const Doubt doubt = DoubtOf(e);
    if (doubt == Doubt::kOrdinary) continue;
    for (NodeError::Symbol& symbol : error.symbols) symbol.g[i] = 0;
    const bool is_limit = rules_.as_written && arity == 1 && std::isinf(e.x[0]);
    const bool rounds = std::isfinite(e.z) && !is_limit;
    const double rounding = rounds ? rules_.Of(Info(node.function).rounding) * std::fabs(e.z) : 0;
    error.r[i] = doubt == Doubt::kCertain ? rounding : kInfinity;
    // Sigmoid may be part of another function by then, as of x sigmoid(x), or be by way of a hyperbolic tangent: no
    // zero.
    const bool is_limit_of_sigmoid = node.function == Function::kSigmoid && e.x[0] == -kInfinity;
    if (rules_.rearranges && is_limit_of_sigmoid && doubt == Doubt::kCertain) error.r[i] = rules_.function_lambda;
  }
}

}  // namespace assay::formula
