// SPDX-License-Identifier: Apache-2.0
// Operators along the positions of a sequence: attention without softmax as a recurrence
// (Katharopoulos et al., arXiv:2006.16236, with gates), the gated delta rule (Yang et al., arXiv:2412.06464) at one
// position and along a sequence, the short convolution of Mamba with its state, and what a cache of keys and values
// takes up.
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void LinearAttention(Definition& d) {
  d.SetDoc("s_t = gate_t s_(t-1) + k_t v_t^T, y_t = scale q_t s_t");
  const Axis b = d.Axis("b", "batches"), h = d.Axis("h", "heads"), l = d.Axis("l", "positions");
  const Axis size = d.Axis("d", "elements of q and k", 1), dv = d.Axis("dv", "elements of v and y");
  const double scale = d.Real("scale", "1", "factor of y");
  const Expr q = d.In("q", b + h + l + size), k = d.In("k", b + h + l + size), v = d.In("v", b + h + l + dv);
  const Expr gate = d.In("gate", b + h + l, Role::kUnit);
  d.Out("y", scale * Sum(q * Recur(gate, k * v, l), size), b + h + l + dv);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-bf16-f32-bf16", "f16-f16-f16-f32-f16"});
}

void GatedDeltaStep(Definition& d) {
  d.SetDoc(
      "new_state = gate state (1 - beta k k^T) + beta v k^T, o = scale new_state q: one position of the gated delta "
      "rule");
  const Axis b = d.Axis("b", "batches"), h = d.Axis("h", "heads");
  const Axis size = d.Axis("d", "elements of q and k", 1), dv = d.Axis("dv", "elements of v and o");
  const double scale = d.Real("scale", "1", "factor of o");
  const Expr q = d.In("q", b + h + size), k = d.In("k", b + h + size), v = d.In("v", b + h + dv);
  const Expr gate = d.In("gate", b + h, Role::kUnit), beta = d.In("beta", b + h, Role::kUnit);
  const Expr kept = gate * d.In("state", b + h + dv + size);
  const Expr state = kept + beta * (v - Sum(kept * k, size)) * k;
  d.Out("o", scale * Sum(state * q, size), b + h + dv);
  d.OutLike("new_state", state, b + h + dv + size, "state");
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-bf16-f32-f32-f32-bf16"});
}

// Pairs of positions: `to` is a position that sees `from` where from <= to.
struct Pairs {
  Axis to, from;
  Expr Reads(Expr x) const {
    return At(std::move(x), to, from, [](int64_t i) { return i; });
  }
  // Products of the gates behind `from` up to `to`, zero where `to` comes first.
  Expr Decay(Expr gate) const {
    Graph& graph = *gate.graph;
    return Recur(std::move(gate), Equal(Index(graph, to), Index(graph, from)), to);
  }
};

// u_t = own_t - the sum over i < t of weights[t,i] u_i, along pairs.from: a triangular system, solved forwards.
Expr SolveForwards(Definition& d, const Pairs& pairs, Expr own, Expr weights) {
  Graph& graph = *own.graph;
  const Axis one = d.FixedAxis("1", 1);
  const auto only = [&](Expr x, int64_t t) { return At(std::move(x), pairs.to, one, [t](int64_t) { return t; }); };
  const Expr all = LessEqual(Const(graph, 0), Index(graph, pairs.from));
  Expr u = Select(all, pairs.Reads(own), Const(graph, 0));  // kernels form u before they multiply it
  for (int64_t t = 1; t < pairs.to.extent; ++t) {
    const Expr place = Index(graph, pairs.from), here = Const(graph, static_cast<double>(t));
    const Expr before = Select(Less(place, here), only(weights, t) * u, Const(graph, 0));
    const Expr next = only(own, t) - Sum(before, pairs.from);
    u = Select(Equal(place, here), At(next, one, pairs.from, [](int64_t) { return 0; }), u);
  }
  return u;
}

// The closed form of arXiv:2412.06464, section 3.3, over the whole sequence: each state is a sum of outer products
// k_i u_i, so that the bound holds for kernels by position and by chunks of any length.
void GatedDeltaRule(Definition& d) {
  d.SetDoc(
      "s_t = gate_t s_(t-1) (1 - beta_t k_t k_t^T) + beta_t v_t k_t^T from s_0 = state, o_t = scale s_t q_t, new_state "
      "the last s; q and k divided by sqrt(sum of squares + eps) first with norm=l2");
  const Axis b = d.Axis("b", "batches"), h = d.Axis("h", "heads"), l = d.Axis("l", "positions; at most 16", 1);
  const Axis size = d.Axis("d", "elements of q and k", 1), dv = d.Axis("dv", "elements of v and o");
  const std::string norm = d.Choice("norm", {"l2", "none"}, "l2: q and k are normalised first");
  const double scale = d.Real("scale", "1", "factor of o"), eps = d.Real("eps", "1e-06", "added to sums of squares");
  d.RefuseIf(eps <= 0, "eps must be positive: q and k may be zero");
  if (d.RefuseIf(l.extent > 16, "l must be at most 16: pass new_state on to a case of the next positions")) return;
  const Pairs pairs{l, d.FixedAxis("l*1", l.extent)};
  const auto normalised = [&](Expr x) { return norm == "l2" ? x * Rsqrt(Sum(x * x, size) + eps) : x; };
  const Expr q = normalised(d.In("q", b + h + l + size)), k = normalised(d.In("k", b + h + l + size));
  const Expr v = d.In("v", b + h + l + dv);
  const Expr gate = d.In("gate", b + h + l, Role::kWeight), beta = d.In("beta", b + h + l, Role::kUnit);
  const Expr state = d.In("state", b + h + dv + size);
  Graph& graph = *q.graph;
  const Expr zero = Const(graph, 0), is_first = Equal(Index(graph, l), zero), place = Index(graph, pairs.from);
  const Expr decay = pairs.Decay(gate), of_state = Recur(gate, Select(is_first, gate, zero), l);
  const Expr k_from = pairs.Reads(k);
  const Expr own = beta * Strict(v - of_state * Sum(k * state, size));
  // Kernels may multiply each term of these products by u, which a state is made of: infinity times zero.
  const auto read = [&](Expr x) { return Sum(x * k_from, size) + zero; };
  const Expr u = SolveForwards(d, pairs, own, beta * decay * read(k));
  const Expr seen = Select(LessEqual(place, Index(graph, l)), decay * read(q) * u, zero);
  d.Out("o", scale * (of_state * Sum(q * state, size) + Sum(seen, pairs.from)), b + h + l + dv);
  const Axis one = d.FixedAxis("1*1", 1);
  const Expr last = At(decay, l, one, [&](int64_t) { return l.extent - 1; });
  const Expr new_state = Prod(gate, l) * state + Sum(last * u * k_from, pairs.from + one);
  d.OutLike("new_state", new_state, b + h + dv + size, "state");
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-bf16-f32-f32-f32-bf16"});
}

void CausalConv1d(Definition& d) {
  d.SetDoc(
      "y[t] = bias + sum of w[j] z[t+j], through silu with silu=1, z the state and x behind it along the positions; "
      "new_state is the end of z");
  const Axis b = d.Axis("b", "batches"), c = d.Axis("c", "channels"), l = d.Axis("l", "positions", 1);
  const Axis k = d.Axis("k", "elements of a window", 2);
  const Flag silu = d.Flag("silu", "1: y passes through x / (1 + exp(-x))");
  const Axis before = d.FixedAxis("k-1", k.extent - 1), all = d.FixedAxis("k-1+l", k.extent - 1 + l.extent);
  const Expr x = d.In("x", b + c + l), w = d.In("w", c + k), bias = d.In("bias", c, Role::kOffset);
  const Expr state = d.In("state", b + c + before);
  const int64_t first = before.extent;
  const Expr of_state = At(state, before, all, [&](int64_t i) { return i < first ? i : -1; });
  const Expr of_x = At(x, l, all, [&](int64_t i) { return i < first ? -1 : i - first; });
  const Expr z = Select(Less(Index(*x.graph, all), Const(*x.graph, static_cast<double>(first))), of_state, of_x);
  std::vector<int64_t> places;
  for (int64_t t = 0; t < l.extent; ++t) {
    for (int64_t j = 0; j < k.extent; ++j) places.push_back(t + j);
  }
  const Expr sum = Sum(Take(z, all, l + k, std::move(places)) * w, k) + bias;
  d.Out("y", silu.on ? sum * Sigmoid(sum) : sum, b + c + l);
  d.OutLike("new_state", At(z, all, before, [&](int64_t i) { return l.extent + i; }), b + c + before, "state");
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16-bf16"});
}

void KvCacheWrite(Definition& d) {
  d.SetDoc("y = cache, but y[slots[i]] = x[i]; of equal slots the last one counts");
  const Axis size = d.Axis("size", "places of the cache"), n = d.Axis("n", "tokens that are written", 1);
  const Axis h = d.Axis("h", "heads"), elements = d.Axis("d", "elements of a head");
  const Expr cache = d.In("cache", size + h + elements), x = d.In("x", n + h + elements);
  const Expr slots = d.InPlaces("slots", n, size);
  Graph& graph = *x.graph;
  const Expr nobody = Const(graph, -1);
  const Expr writer = Max(Select(Equal(slots, Index(graph, size)), Index(graph, n), nobody), n);
  d.Out("y", Select(Less(writer, Const(graph, 0)), cache, Gather(x, n, Max0(writer))), size + h + elements);
  d.SetTypes({"f32-f32-i64-f32", "bf16-bf16-i64-bf16", "f16-f16-i64-f16", "f64-f64-i64-f64", "f32-f32-i32-f32",
              "bf16-bf16-i32-bf16"});
}

ASSAY_OPERATOR(causal_conv1d, CausalConv1d);
ASSAY_OPERATOR(gated_delta_rule, GatedDeltaRule);
ASSAY_OPERATOR(gated_delta_step, GatedDeltaStep);
ASSAY_OPERATOR(kv_cache_write, KvCacheWrite);
ASSAY_OPERATOR(linear_attention, LinearAttention);

}  // namespace
}  // namespace assay
