// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/delta_forms.h"

#include <optional>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {
namespace delta {

using namespace formula;  // NOLINT: formulas read better without

// Operands of one position: heads of vectors, and of numbers.
struct Position {
  Expr q, k, v, gate, beta;
};

// One position of the recurrence, as a kernel with this mistake computes it.
class DeltaStep {
 public:
  DeltaStep(DeltaMistake mistake, const Axis& size) : mistake_(mistake), size_(size) {}

  // The state behind this position. `key`: of this position, and of the one before it.
  Expr Next(const Expr& state, const Position& now, const Expr& key_before) const {
    const Expr kept = Is(DeltaMistake::kGateTwice) ? now.gate * now.gate * state : now.gate * state;
    const bool is_late = Is(DeltaMistake::kGateBehindUpdate) || Is(DeltaMistake::kPredictsBeforeGate);
    const Expr read =
        Sum((is_late ? state : kept) * (Is(DeltaMistake::kPredictsByKeyBefore) ? key_before : now.k), size_);
    const Expr update = Update(now, read) * (Is(DeltaMistake::kWritesKeyBefore) ? key_before : now.k);
    if (Is(DeltaMistake::kGateBehindUpdate)) return now.gate * (state + update);
    return (Is(DeltaMistake::kGateOfPredictionAlone) ? state : kept) + update;
  }

 private:
  bool Is(DeltaMistake mistake) const { return mistake_ == mistake; }

  Expr Update(const Position& now, const Expr& read) const {
    switch (mistake_) {
      case DeltaMistake::kNoPrediction:
        return now.beta * now.v;
      case DeltaMistake::kAddsPrediction:
        return now.beta * (now.v + read);
      case DeltaMistake::kBetaOfValueAlone:
        return now.beta * now.v - read;
      case DeltaMistake::kBetaOfPredictionAlone:
        return now.v - now.beta * read;
      case DeltaMistake::kBetaTwice:
        return now.beta * now.beta * (now.v - read);
      default:
        return now.beta * (now.v - read);
    }
  }

  DeltaMistake mistake_;
  const Axis& size_;
};

void DefineDeltaRule(Definition& d, const DeltaAttrs& attrs, DeltaMistake mistake) {
  const Axis b = d.Axis("b", "batches"), h = d.Axis("h", "heads"), l = d.Axis("l", "positions", 1);
  const Axis size = d.Axis("d", "elements of q and k", 1), dv = d.Axis("dv", "elements of v and o");
  const Axis one = d.FixedAxis("1", 1);
  const auto normalised = [&](const Expr& x) { return attrs.normalises ? x * Rsqrt(Sum(x * x, size) + attrs.eps) : x; };
  const Expr q = normalised(d.In("q", b + h + l + size));
  const Expr k = normalised(d.In("k", b + h + l + size));
  const Expr v = d.In("v", b + h + l + dv);
  const Expr gate = d.In("gate", b + h + l, Role::kWeight), beta = d.In("beta", b + h + l, Role::kUnit);
  const Expr given = d.In("state", b + h + dv + size);
  const auto only = [&](const Expr& x, int64_t t) {
    return Sum(At(x, l, one, [t](int64_t) { return t; }), one);  // t < 0: zero
  };
  const DeltaStep step(mistake, size);
  Expr state = given, stored = given;
  std::optional<Expr> o;
  for (int64_t t = 0; t < l.extent; ++t) {
    const Expr before = mistake == DeltaMistake::kStateOfEachIsGiven ? given : state;
    if (mistake == DeltaMistake::kStoresStateBefore) stored = state;
    state = step.Next(before, {only(q, t), only(k, t), only(v, t), only(gate, t), only(beta, t)}, only(k, t - 1));
    const Expr y = Sum((mistake == DeltaMistake::kReadsBeforeUpdate ? before : state) * only(q, t), size) * attrs.scale;
    const Expr is_here = Equal(Index(*q.graph, l), Const(*q.graph, static_cast<double>(t)));
    o = o ? Select(is_here, y, *o) : Select(is_here, y, Const(*q.graph, 0));
  }
  d.Out("o", *o, b + h + l + dv);
  d.OutLike("new_state", mistake == DeltaMistake::kStoresStateBefore ? stored : state, b + h + dv + size, "state");
}

}  // namespace delta
}  // namespace

formula::Definition::Author WriteDeltaRule(const DeltaAttrs& attrs, DeltaMistake mistake) {
  return [attrs, mistake](formula::Definition& d) { delta::DefineDeltaRule(d, attrs, mistake); };
}

}  // namespace assay
