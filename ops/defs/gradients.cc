// SPDX-License-Identifier: Apache-2.0
// Gradients of activations and gates, of rms_norm and of embeddings, from that of the result, dy. Those of a matrix
// product are products themselves, and those of sums and movements are movements and sums.

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// sqrt(1/2), 1 / sqrt(2 pi), sqrt(2/pi) and 0.044715, as sums of two doubles.
struct SplitConstant {
  double value, rest;
  Expr operator()(Graph& graph, double factor = 1) const { return Const(graph, factor * value, factor * rest); }
};
constexpr SplitConstant kInverseRoot2{0.7071067811865476, -4.833646656726457e-17};
constexpr SplitConstant kDensityAt0{0.3989422804014327, -2.49232720227773e-17};
constexpr SplitConstant kTanhFactor{0.7978845608028654, -4.98465440455546e-17};
constexpr SplitConstant kTanhCubic{0.044715, 2.1960211427085595e-18};

// 1 + erf and 1 + tanh have no digit left far below zero: they are functions of their own, as in gelu. Kernels may take
// the differences all the same.
void GeluBackward(Definition& d) {
  d.SetDoc("dx = dy (Phi(x) + x phi(x)), Phi by erf with its density phi, or Phi by tanh with its derivative");
  const Axis n = d.Axis("n", "elements");
  const bool by_tanh = d.Choice("approx", {"none", "tanh"}, "how Phi is computed") == "tanh";
  const Expr dy = d.In("dy", n), x = d.In("x", n);
  Graph& graph = *x.graph;
  const auto by_erf = [&] {
    const Expr phi = kDensityAt0(graph) * Exp(-0.5 * (x * x));
    return 0.5 * OneMinusErf(x * kInverseRoot2(graph, -1)) + x * phi;
  };
  const auto by_tangent = [&] {
    const Expr inner = kTanhFactor(graph) * (x + kTanhCubic(graph) * (x * x * x));
    const Expr above = OneMinusTanh(-inner), below = OneMinusTanh(inner);
    const Expr slope = kTanhFactor(graph) * (1 + kTanhCubic(graph, 3) * (x * x));
    return 0.5 * above + 0.5 * x * (above * below) * slope;
  };
  d.Out("dx", dy * (by_tanh ? by_tangent() : by_erf()), n);
}

void SiluAndMulBackward(Definition& d) {
  d.SetDoc("dx of y = g s u, g and u the halves of each row of x, s = sigmoid(g): dy u s (1 + g (1 - s)), and dy g s");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row of dy");
  const Axis both = d.DerivedAxis("2*n", n, 2);
  const Expr dy = d.In("dy", rows + n), x = d.In("x", rows + both);
  const auto at_both = [&](Expr of, const Axis& from, int64_t first) {
    return At(of, from, both, [&](int64_t i) { return first + i % n.extent; });
  };
  const Expr g = at_both(x, both, 0), u = at_both(x, both, n.extent), of_y = at_both(dy, n, 0), s = Sigmoid(g);
  const Expr is_gate = Less(Index(*x.graph, both), Const(*x.graph, static_cast<double>(n.extent)));
  d.Out("dx", Select(is_gate, of_y * u * (s * (1 + g * (1 - s))), of_y * (g * s)), rows + both);
}

void RmsNormBackward(Definition& d) {
  d.SetDoc(
      "with z = x rstd and g = dy gamma: dx = rstd (g - z times the mean of g z), the mean of each row; dgamma = sum "
      "of "
      "dy z over the rows");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr dy = d.In("dy", rows + n), x = d.In("x", rows + n);
  const Expr rstd = d.In("rstd", rows, Role::kPositive);
  const Expr gamma = d.In("gamma", n, Role::kWeight);
  const Expr z = x * rstd, g = dy * gamma;
  d.Out("dx", rstd * (g - z * Mean(g * z, n)), rows + n);
  d.OutLike("dgamma", Sum(dy * z, rows), n, "gamma");
  d.SetTypes({"f32", "f64", "bf16-bf16-f32-bf16-bf16", "f16-f16-f32-f16-f16", "bf16-bf16-f32-f32-bf16"});
}

void EmbeddingBackward(Definition& d) {
  d.SetDoc("dtable[i] = the sum of dy[j] over the places j whose index is i, in any order; 0 where there is none");
  const Axis v = d.Axis("v", "rows of the table"), n = d.Axis("n", "rows of dy");
  const Axis size = d.Axis("d", "elements of a row");
  const Expr dy = d.In("dy", n + size);
  const Expr indices = d.InPlaces("indices", n, v);
  const Expr zeros = At(dy, n, v, [](int64_t) { return -1; });
  d.Out("dtable", ScatterAdd(zeros, dy, indices, v), v + size);
  d.SetTypes({"f32-i64-f32", "bf16-i64-bf16", "f16-i64-f16", "f64-i64-f64", "f32-i32-f32", "bf16-i64-f32"});
}

ASSAY_OPERATOR(embedding_backward, EmbeddingBackward);
ASSAY_OPERATOR(gelu_backward, GeluBackward);
ASSAY_OPERATOR(rms_norm_backward, RmsNormBackward);
ASSAY_OPERATOR(silu_and_mul_backward, SiluAndMulBackward);

}  // namespace
}  // namespace assay
