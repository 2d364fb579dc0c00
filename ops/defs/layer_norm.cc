// SPDX-License-Identifier: Apache-2.0
// The operator layer_norm: y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void LayerNorm(Definition& d) {
  d.SetDoc("y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each row");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr x = d.In("x", rows + n);
  const Expr gamma = d.In("gamma", n, Role::kWeight), beta = d.In("beta", n);
  const double eps = d.Real("eps", "1e-05", "what is added to the variance");
  d.RefuseIf(eps <= 0, "eps must be positive: the variance of equal elements is zero");
  const Expr c = x - Mean(x, n);
  d.Out("y", c * Rsqrt(Mean(c * c, n) + eps) * gamma + beta, rows + n);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16", "f16-f32-f32-f16"});
}

ASSAY_OPERATOR(layer_norm, LayerNorm);

}  // namespace
}  // namespace assay
