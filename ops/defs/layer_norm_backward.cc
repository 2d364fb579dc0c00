// SPDX-License-Identifier: Apache-2.0
// The operator layer_norm_backward: the gradients of layer_norm, from that of its result and the mean and rstd that it
// keeps of each row.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void LayerNormBackward(Definition& d) {
  d.SetDoc(
      "with z = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean of g - z times the mean of g z), means of each "
      "row; dgamma = sum of dy z, dbeta = sum of dy over the rows");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr dy = d.In("dy", rows + n);
  const Expr x = d.In("x", rows + n);
  const Expr mean = d.In("mean", rows, Role::kOffset);
  const Expr rstd = d.In("rstd", rows, Role::kPositive);
  const Expr gamma = d.In("gamma", n, Role::kWeight);
  const Expr z = (x - mean) * rstd, g = dy * gamma;
  d.Out("dx", rstd * (g - Mean(g, n) - z * Mean(g * z, n)), rows + n);
  d.OutLike("dgamma", Sum(dy * z, rows), n, "gamma");
  d.OutLike("dbeta", Sum(dy, rows), n, "gamma");
  d.SetTypes({"f32", "f64", "bf16-bf16-f32-f32-bf16-bf16", "f16-f16-f32-f32-f16-f16", "bf16-bf16-f32-f32-f32-bf16"});
}

ASSAY_OPERATOR(layer_norm_backward, LayerNormBackward);

}  // namespace
}  // namespace assay
