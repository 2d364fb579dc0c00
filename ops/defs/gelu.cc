// SPDX-License-Identifier: Apache-2.0
// The operator gelu: x times the normal distribution function of x, or its approximation by a hyperbolic tangent
// (Hendrycks and Gimpel, arXiv 1606.08415). Phi is a function of its own, as 1 + erf and 1 + tanh have no digit left
// where x is far below zero; kernels that take these sums may be off as far as that costs. At -infinity NaN, zero and
// infinities are right: infinity times what roundings leave of Phi is infinite.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// sqrt(1/2), sqrt(2/pi) and 0.044715, as sums of two doubles.
constexpr double kRootHalf = 0.7071067811865476, kRootHalfRest = -4.833646656726457e-17;
constexpr double kRootTwoOverPi = 0.7978845608028654, kRootTwoOverPiRest = -4.98465440455546e-17;
constexpr double kCubic = 0.044715, kCubicRest = 2.1960211427085595e-18;

void Gelu(Definition& d) {
  d.SetDoc("y = x Phi(x), Phi by erf or by tanh");
  const Axis n = d.Axis("n", "elements");
  const Expr x = d.In("x", n);
  const bool by_tanh = d.Choice("approx", {"none", "tanh"}, "how Phi is computed") == "tanh";
  const auto constant = [&](double value, double rest) { return Const(*x.graph, value, rest); };
  const auto by_erf = [&] { return OneMinusErf(x * constant(-kRootHalf, -kRootHalfRest)); };
  const auto by_tangent = [&] {
    const Expr cubic = x + constant(kCubic, kCubicRest) * (x * x * x);
    return OneMinusTanh(constant(-kRootTwoOverPi, -kRootTwoOverPiRest) * cubic);
  };
  d.Out("y", 0.5 * x * (by_tanh ? by_tangent() : by_erf()), n);
}

ASSAY_OPERATOR(gelu, Gelu);

}  // namespace
}  // namespace assay
