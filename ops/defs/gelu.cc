// SPDX-License-Identifier: Apache-2.0
// The operator gelu: x times the normal distribution function of x, or its approximation by a hyperbolic tangent
// (Hendrycks and Gimpel, arXiv 1606.08415). Of -infinity NaN, zero and infinities are right: a function is -1 there but
// for the ulp of math=, and infinity times what these leave of Phi is infinite.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Gelu(Definition& d) {
  d.SetDoc("y = x Phi(x), Phi by erf or by tanh");
  const Axis n = d.Axis("n", "elements");
  const Expr x = d.In("x", n);
  const bool by_tanh = d.Choice("approx", {"none", "tanh"}, "how Phi is computed") == "tanh";
  constexpr double kRootHalf = 0.70710678118654752, kRootTwoOverPi = 0.79788456080286536;
  const Expr phi2 = by_tanh ? 1.0 + Tanh(kRootTwoOverPi * (x + 0.044715 * (x * x * x))) : 1.0 + Erf(x * kRootHalf);
  d.Out("y", 0.5 * x * phi2, n);
}

ASSAY_OPERATOR(gelu, Gelu);

}  // namespace
}  // namespace assay
