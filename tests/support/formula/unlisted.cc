// SPDX-License-Identifier: Apache-2.0
#include "tests/support/formula/unlisted.h"

namespace assay::test {
namespace {

using namespace formula;  // NOLINT: formulas read better without

struct Mistake {
  bool forgets_shift = false, is_too_strict = false;
};

void State(Definition& d, const Mistake& mistake) {
  d.SetDoc("y = gate(x - mean) / sqrt(variance + floor) weight + shift, mean and variance of each line");
  const Axis kappa = d.Axis("kappa", "lines; no multiple of 3"), omega = d.Axis("omega", "elements of a line; odd");
  const std::string gate = d.Choice("gate", {"none", "abs", "sigmoid"}, "what lets differences through");
  const double floor = d.Real("floor", "0.001", "what is added to the variance");
  const Flag levels = d.Flag("levels", "1: the level of each line is an output too");
  const int64_t doublings = d.Integer("doublings", "1", "how often the shift is doubled");
  d.RefuseIf(kappa.extent % 3 == 0, "kappa must not be a multiple of 3");
  d.RefuseIf(omega.extent % 2 == 0, "omega must be odd");
  d.RefuseIf(floor <= 0, "floor must be positive");
  d.RefuseIf(gate == "sigmoid" && levels.on && doublings > 1, "with levels, a sigmoid takes no doublings");

  const Expr x = d.In("x", kappa + omega);
  const Expr weight = d.In("weight", omega, Role::kWeight);
  const Expr shift = d.In("shift", kappa, Role::kOffset);
  const Expr mean = Mean(x, omega), c = mistake.is_too_strict ? Strict(x - mean) : x - mean;
  const Expr gated = gate == "abs" ? Abs(c) : gate == "sigmoid" ? c * Sigmoid(c) : c;
  const Expr added = static_cast<double>(int64_t{1} << doublings) * shift;
  const auto state_outputs = [&](Expr variance) {
    const Expr scaled = gated * Rsqrt(variance + floor) * weight;
    d.Out("y", mistake.forgets_shift ? scaled : scaled + added, kappa + omega);
    d.OutLike("drift", Exp(shift), kappa, "shift");
    d.OutIf(levels, "level", Sum(x * weight, omega) - Max(x, omega), kappa);
  };
  d.Schedule(Algorithm::kDirect, [&] { state_outputs(Mean(c * c, omega)); });
  d.Schedule(Algorithm::kOnePass, [&] { state_outputs(Max0(Mean(x * x, omega) - mean * mean)); });
  d.SetTypes({"f32", "bf16", "f64", "f16-f32-f32-f16"});
}

}  // namespace

void Unlisted(Definition& d) {
  State(d, {});
}
void UnlistedWithoutShift(Definition& d) {
  State(d, {.forgets_shift = true});
}
void UnlistedTooStrict(Definition& d) {
  State(d, {.is_too_strict = true});
}

}  // namespace assay::test
