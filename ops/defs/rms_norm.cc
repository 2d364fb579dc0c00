// SPDX-License-Identifier: Apache-2.0
// The operator rms_norm: y = x / sqrt(mean of x^2 + eps) gamma along the last axis.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void RmsNorm(Definition& d) {
  d.SetDoc("y = x / sqrt(mean of x^2 + eps) gamma, the mean of each row");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr x = d.In("x", rows + n), gamma = d.In("gamma", n, Role::kWeight);
  const double eps = d.Real("eps", "1e-06", "what is added to the mean square");
  d.RefuseIf(eps <= 0, "eps must be positive: the mean square of zeros is zero");
  d.Out("y", x * Rsqrt(Mean(x * x, n) + eps) * gamma, rows + n);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-bf16", "f16-f32-f16"});
}

ASSAY_OPERATOR(rms_norm, RmsNorm);

}  // namespace
}  // namespace assay
