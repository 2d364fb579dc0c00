// SPDX-License-Identifier: Apache-2.0
// The operator sin: y = sin(x) for each element, x in radians.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void SinOf(formula::Definition& d) {
  d.SetDoc("y = sin(x), x in radians");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Sin(d.In("x", n)), n);
}

ASSAY_OPERATOR(sin, SinOf);

}  // namespace
}  // namespace assay
