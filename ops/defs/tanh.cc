// SPDX-License-Identifier: Apache-2.0
// The operator tanh: y = tanh(x) for each element.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void TanhOf(formula::Definition& d) {
  d.SetDoc("y = tanh(x)");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Tanh(d.In("x", n)), n);
}

ASSAY_OPERATOR(tanh, TanhOf);

}  // namespace
}  // namespace assay
