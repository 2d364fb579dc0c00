// SPDX-License-Identifier: Apache-2.0
// Parts of mixtures of experts: which experts a token has and with what weights, tokens in the order of their experts
// and back, and products with the matrix of each row's expert (Fedus et al. 2021, arXiv:2101.03961).
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void GroupedGemm(Definition& d) {
  d.SetDoc("y[i] = x[i] w[g], g the group whose rows end behind i: rows of a group stand together, up to its end");
  const Axis rows = d.Axis("rows", "rows of x"), k = d.Axis("k", "elements of a row");
  const Axis groups = d.Axis("groups", "matrices", 1), n = d.Axis("n", "elements of a row of y");
  const Expr x = d.In("x", rows + k), w = d.In("w", groups + k + n);
  const Expr ends = d.InPlaces("ends", groups, rows, PlaceKind::kEnds);
  const Expr group = Sum(LessEqual(ends, Index(*x.graph, rows)), groups);
  d.Out("y", Contraction(x, Gather(w, groups, group), k), rows + n);
  d.SetTypes({"f32-f32-i32-f32", "bf16-bf16-i32-bf16", "f16-f16-i32-f16", "f64-f64-i64-f64", "f32-f32-i64-f32",
              "bf16-bf16-i64-bf16", "bf16-bf16-i32-f32"});
}

void MoeRoute(Definition& d) {
  d.SetDoc("the k experts of each token with the largest logits, and their weights: softmax or sigmoid of the logits");
  const Axis t = d.Axis("t", "tokens"), k = d.Axis("k", "experts of a token", 1);
  const Axis experts = d.Axis("experts", "logits of a token", 1);
  const bool by_sigmoid = d.Choice("score", {"softmax", "sigmoid"}, "what makes weights of logits") == "sigmoid";
  const Flag norm = d.Flag("norm", "1: the weights of a token are divided by their sum");
  const std::string tie = d.Choice("tie", {"first", "any"}, "which of equal logits stands before the other");
  if (d.RefuseIf(k.extent > experts.extent, "k must not be more than experts: a token has that many logits")) return;
  const Expr logits = d.In("logits", t + experts);
  const Selection top = TopK(logits, experts, k, {.any_tie = tie == "any"});
  const auto by_softmax = [&] {
    if (norm.on) return Exp(-BelowMax(top.values, k));
    const Expr below = BelowMax(logits, experts);
    return Exp(-Strict(Max(logits, experts) - top.values)) / RescaledSum(Exp(-below), experts);
  };
  const Expr score = by_sigmoid ? Sigmoid(top.values) : by_softmax();
  d.Out("weights", norm.on ? score / Sum(score, k) : score, t + k);
  d.OutPlaces("experts_of", top.places, t + k);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32", "f16-f32"});
}

void MoePermute(Definition& d) {
  d.SetDoc(
      "y = the tokens, once for each of their experts, in the order of the experts and for one in that of the tokens; "
      "source is the row of the pair among tokens and their experts");
  const Axis t = d.Axis("t", "tokens"), k = d.Axis("k", "experts of a token", 1);
  const Axis size = d.Axis("d", "elements of a token"), experts = d.Axis("experts", "how many there are", 1);
  const Axis pairs = d.FixedAxis("t*k", t.extent * k.extent), rows = d.FixedAxis("t*k", t.extent * k.extent);
  const Expr x = d.In("x", t + size);
  const Expr chosen = Reshape(d.InPlaces("experts_of", t + k, experts), t + k, pairs);
  const Expr source = TopK(chosen, pairs, rows, {.smallest = true}).places;
  d.Out("y", Gather(x, t, FloorDivide(source, Const(*x.graph, static_cast<double>(k.extent)))), rows + size);
  d.OutPlaces("source", source, rows);
  d.SetTypes({"f32-i64-f32", "bf16-i64-bf16", "f16-i64-f16", "f64-i64-f64", "f32-i32-f32"});
}

void MoeUnpermute(Definition& d) {
  d.SetDoc("y[i] = the sum of weights[i,j] x[places[i,j]], over the experts j of a token");
  const Axis rows = d.Axis("rows", "rows of x"), t = d.Axis("t", "tokens"), k = d.Axis("k", "experts of a token");
  const Axis size = d.Axis("d", "elements of a token");
  d.RefuseIf(k.extent > 64, "k must be at most 64: no token has more experts, and 16 bits show no single one of them");
  const Expr x = d.In("x", rows + size);
  const Expr places = d.InPlaces("places", t + k, rows);
  const Expr weights = d.In("weights", t + k);
  d.Out("y", Sum(Gather(x, rows, places) * weights, k), t + size);
  d.SetTypes({"f32-i64-f32-f32", "bf16-i64-bf16-bf16", "f16-i64-f16-f16", "f64-i64-f64-f64", "f32-i32-f32-f32",
              "bf16-i64-f32-bf16"});
}

void MoeFused(Definition& d) {
  d.SetDoc("y[i] = the sum of weights[i,j] (silu(x[i] w1) x[i] w3) w2, of the matrices of the experts j of a token");
  const Axis t = d.Axis("t", "tokens"), k = d.Axis("k", "experts of a token", 1);
  const Axis experts = d.Axis("experts", "how many there are", 1);
  const Axis size = d.Axis("d", "elements of a token", 1), h = d.Axis("h", "elements between the products", 1);
  const Axis of_result = d.FixedAxis("d*1", size.extent);
  const Expr x = d.In("x", t + size);
  const Expr w1 = d.In("w1", experts + size + h), w3 = d.In("w3", experts + size + h);
  const Expr w2 = d.In("w2", experts + h + of_result);
  const Expr chosen = d.InPlaces("experts_of", t + k, experts);
  const Expr weights = d.In("weights", t + k);
  const auto product = [&](Expr w) { return Contraction(x, Gather(w, experts, chosen), size); };
  const Expr gate = product(w1), inner = gate * Sigmoid(gate) * product(w3);
  d.Out("y", Sum(weights * inner * Gather(w2, experts, chosen), k + h), t + of_result);
  d.SetTypes({"f32-f32-f32-f32-i64-f32-f32", "bf16-bf16-bf16-bf16-i64-bf16-bf16", "f16-f16-f16-f16-i64-f16-f16",
              "f64-f64-f64-f64-i64-f64-f64", "bf16-bf16-bf16-bf16-i32-f32-bf16"});
}

ASSAY_OPERATOR(grouped_gemm, GroupedGemm);
ASSAY_OPERATOR(moe_fused, MoeFused);
ASSAY_OPERATOR(moe_permute, MoePermute);
ASSAY_OPERATOR(moe_route, MoeRoute);
ASSAY_OPERATOR(moe_unpermute, MoeUnpermute);

}  // namespace
}  // namespace assay
