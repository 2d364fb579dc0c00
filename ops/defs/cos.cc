// SPDX-License-Identifier: Apache-2.0
// The operator cos: y = cos(x) for each element, x in radians.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void CosOf(formula::Definition& d) {
  d.SetDoc("y = cos(x), x in radians");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Cos(d.In("x", n)), n);
}

ASSAY_OPERATOR(cos, CosOf);

}  // namespace
}  // namespace assay
