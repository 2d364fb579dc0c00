// SPDX-License-Identifier: Apache-2.0
// The operator erf: y = erf(x) for each element.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void ErfOf(formula::Definition& d) {
  d.SetDoc("y = erf(x)");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Erf(d.In("x", n)), n);
}

ASSAY_OPERATOR(erf, ErfOf);

}  // namespace
}  // namespace assay
