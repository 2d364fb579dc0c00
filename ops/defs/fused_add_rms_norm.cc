// SPDX-License-Identifier: Apache-2.0
// The operator fused_add_rms_norm: s = x + residual, which takes the place of residual, and y = s / sqrt(mean of s^2 +
// eps) gamma along the last axis. s is the sum itself: a kernel that takes the norm of what it has stored in 16 bits
// keeps an intermediate in them, and declares so (mid=bf16, mid=f16).
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void FusedAddRmsNorm(Definition& d) {
  d.SetDoc("s = x + residual, stored as residual_out; y = s / sqrt(mean of s^2 + eps) gamma, the mean of each row");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Expr x = d.In("x", rows + n);
  const Expr residual = d.In("residual", rows + n, Role::kOffset);
  const Expr gamma = d.In("gamma", n, Role::kWeight);
  const double eps = d.Real("eps", "1e-06", "what is added to the mean square");
  d.RefuseIf(eps <= 0, "eps must be positive: the mean square of zeros is zero");
  const Expr s = x + residual;
  d.Out("y", s * Rsqrt(Mean(s * s, n) + eps) * gamma, rows + n);
  d.OutInPlace("residual_out", s, "residual");
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-f32-bf16", "f16-f16-f32-f16"});
}

ASSAY_OPERATOR(fused_add_rms_norm, FusedAddRmsNorm);

}  // namespace
}  // namespace assay
