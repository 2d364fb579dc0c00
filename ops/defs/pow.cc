// SPDX-License-Identifier: Apache-2.0
// The operator pow: y = x to the power of p for each pair of elements, as pow of IEEE 754-2019 (9.2).
#include "ops/formula_operator.h"

namespace assay {
namespace {

void PowOf(formula::Definition& d) {
  d.SetDoc("y = x to the power of p");
  const formula::Axis n = d.Axis("n", "elements");
  const formula::Expr x = d.In("x", n, formula::Role::kBase);
  const formula::Expr p = d.In("p", n, formula::Role::kExponent);
  d.Out("y", formula::Pow(x, p), n);
}

ASSAY_OPERATOR(pow, PowOf);

}  // namespace
}  // namespace assay
