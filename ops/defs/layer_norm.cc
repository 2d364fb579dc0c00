// SPDX-License-Identifier: Apache-2.0
// The operator layer_norm: y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. With stats=1 the
// mean and 1 / sqrt(variance + eps) of each row come out as well, as layer_norm_backward takes them.
// A row with an infinity has a mean that is infinite, or NaN where kernels update it term by term; its y and rstd are
// NaN.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void LayerNorm(Definition& d) {
  d.SetDoc("y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each row");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr x = d.In("x", rows + n);
  const Expr gamma = d.In("gamma", n, Role::kWeight), beta = d.In("beta", n, Role::kOffset);
  const double eps = d.Real("eps", "1e-05", "what is added to the variance");
  d.RefuseIf(eps <= 0, "eps must be positive: the variance of equal elements is zero");
  const Flag stats = d.Flag("stats", "1: mean and rstd of each row are outputs too");
  const Expr mean = UpdatedMean(x, n), c = x - mean;
  const auto state_outputs = [&](Expr variance) {
    const Expr rstd = Rsqrt(variance + eps);
    d.Out("y", c * rstd * gamma + beta, rows + n);
    d.OutIf(stats, "mean", mean, rows);
    d.OutIf(stats, "rstd", rstd, rows);
  };
  d.Schedule(Algorithm::kDirect, [&] { state_outputs(Mean(c * c, n)); });
  d.Schedule(Algorithm::kOnePass, [&] { state_outputs(Max0(Mean(x * x, n) - mean * mean)); });
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16", "f16-f32-f32-f16"});
}

ASSAY_OPERATOR(layer_norm, LayerNorm);

}  // namespace
}  // namespace assay
