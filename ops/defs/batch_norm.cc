// SPDX-License-Identifier: Apache-2.0
// Normalisations of channels: batch_norm by statistics that are known, and by those of the batch in training, which
// also updates the running ones (Ioffe and Szegedy 2015, arXiv:1502.03167); instance_norm of each sample by itself
// (Ulyanov et al. 2016, arXiv:1607.08022).
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// x [n,c,s], and the weights and offsets of its channels.
struct Channels {
  explicit Channels(Definition& d)
      : n(d.Axis("n", "samples")),
        c(d.Axis("c", "channels")),
        s(d.Axis("s", "positions")),
        x(d.In("x", n + c + s)),
        gamma(d.In("gamma", c, Role::kWeight)),
        beta(d.In("beta", c, Role::kOffset)) {}
  Expr Normalise(Expr mean, Expr variance) const { return (x - mean) * Rsqrt(variance + eps) * gamma + beta; }
  void AskForEps(Definition& d) {
    eps = d.Real("eps", "1e-05", "what is added to the variance");
    d.RefuseIf(eps <= 0, "eps must be positive: the variance of equal elements is zero");
  }
  // The variance along axes, in both ways that kernels have.
  void StateBoth(Definition& d, Expr mean, const Axes& along, const std::function<void(Expr)>& state) const {
    const Expr centred = x - mean;
    d.Schedule(Algorithm::kDirect, [&] { state(Mean(centred * centred, along)); });
    d.Schedule(Algorithm::kOnePass, [&] { state(Max0(Mean(x * x, along) - mean * mean)); });
  }

  Axis n, c, s;
  Expr x, gamma, beta;
  double eps = 0;
};

void BatchNorm(Definition& d) {
  d.SetDoc("y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each channel as they are given");
  Channels of(d);
  const Expr mean = d.In("mean", of.c, Role::kOffset), variance = d.In("variance", of.c, Role::kPositive);
  of.AskForEps(d);
  d.Out("y", of.Normalise(mean, variance), of.n + of.c + of.s);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-f32-f32-bf16", "f16-f32-f32-f32-f32-f16"});
}

void BatchNormTraining(Definition& d) {
  d.SetDoc(
      "y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each channel over the batch; new_mean "
      "and new_var are the running ones, moved by momentum to these");
  Channels of(d);
  const Expr running_mean = d.In("running_mean", of.c, Role::kOffset);
  const Expr running_var = d.In("running_var", of.c, Role::kPositive);
  of.AskForEps(d);
  const double momentum = d.Real("momentum", "0.1", "how far the running statistics move");
  const Flag population = d.Flag("population", "1: new_var is of the variance over n s, not over n s - 1");
  const auto count = static_cast<double>(of.n.extent * of.s.extent);
  if (d.RefuseIf(count < 2, "n s must be at least 2: one element has no variance")) return;
  const Axes batch = of.n + of.s;
  const Expr mean = UpdatedMean(of.x, batch);
  const auto move = [&](Expr from, Expr to) { return (1 - momentum) * from + momentum * to; };
  of.StateBoth(d, mean, batch, [&](Expr variance) {
    const Expr counted = population.on ? variance : variance / (1 - 1 / count);
    d.Out("y", of.Normalise(mean, variance), of.n + of.c + of.s);
    d.OutLike("new_mean", move(running_mean, mean), of.c, "running_mean");
    d.OutLike("new_var", move(running_var, counted), of.c, "running_var");
  });
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-f32-f32-bf16", "f16-f32-f32-f32-f32-f16"});
}

void InstanceNorm(Definition& d) {
  d.SetDoc("y = (x - mean) / sqrt(variance + eps) gamma + beta, mean and variance of each channel of a sample");
  Channels of(d);
  of.AskForEps(d);
  const Expr mean = UpdatedMean(of.x, of.s);
  of.StateBoth(d, mean, of.s, [&](Expr variance) { d.Out("y", of.Normalise(mean, variance), of.n + of.c + of.s); });
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16", "f16-f32-f32-f16"});
}

ASSAY_OPERATOR(batch_norm, BatchNorm);
ASSAY_OPERATOR(batch_norm_training, BatchNormTraining);
ASSAY_OPERATOR(instance_norm, InstanceNorm);

}  // namespace
}  // namespace assay
