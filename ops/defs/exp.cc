// SPDX-License-Identifier: Apache-2.0
// The operator exp: y = exp(x) for each element.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void ExpOf(formula::Definition& d) {
  d.SetDoc("y = exp(x)");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Exp(d.In("x", n)), n);
}

ASSAY_OPERATOR(exp, ExpOf);

}  // namespace
}  // namespace assay
