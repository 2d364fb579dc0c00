// SPDX-License-Identifier: Apache-2.0
// Operators along the positions of a sequence: attention without softmax as a recurrence
// (Katharopoulos et al., arXiv:2006.16236, with gates), one position of the gated delta rule (Yang et al.,
// arXiv:2412.06464), the short convolution of Mamba with its state, and what a cache of keys and values takes up.
#include <string>
#include <vector>

#include "ops/formula_operator.h"

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
ASSAY_OPERATOR(gated_delta_step, GatedDeltaStep);
ASSAY_OPERATOR(kv_cache_write, KvCacheWrite);
ASSAY_OPERATOR(linear_attention, LinearAttention);

}  // namespace
}  // namespace assay
