// SPDX-License-Identifier: Apache-2.0
// The operator group_norm: layer_norm over the channels of a group and all positions (Wu and He 2018,
// arXiv:1803.08494).
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void GroupNorm(Definition& d) {
  d.SetDoc("y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each group of channels");
  const Axis b = d.Axis("b", "batches"), g = d.Axis("g", "groups of channels");
  const Axis c = d.Axis("c", "channels of a group"), n = d.Axis("n", "positions");
  const Expr x = d.In("x", b + g + c + n);
  const Expr gamma = d.In("gamma", g + c, Role::kWeight), beta = d.In("beta", g + c, Role::kOffset);
  const double eps = d.Real("eps", "1e-05", "what is added to the variance");
  d.RefuseIf(eps <= 0, "eps must be positive: the variance of equal elements is zero");
  const Expr mean = Mean(x, c + n), centred = x - mean;
  const auto state_output = [&](Expr variance) {
    d.Out("y", centred * Rsqrt(variance + eps) * gamma + beta, b + g + c + n);
  };
  d.Schedule(Algorithm::kDirect, [&] { state_output(Mean(centred * centred, c + n)); });
  d.Schedule(Algorithm::kOnePass, [&] { state_output(Max0(Mean(x * x, c + n) - mean * mean)); });
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16", "f16-f32-f32-f16"});
}

ASSAY_OPERATOR(group_norm, GroupNorm);

}  // namespace
}  // namespace assay
