// SPDX-License-Identifier: Apache-2.0
// The operator rsqrt: y = 1 / sqrt(x) for each element.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void RsqrtOf(formula::Definition& d) {
  d.SetDoc("y = 1 / sqrt(x)");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Rsqrt(d.In("x", n, formula::Role::kPositive)), n);
}

ASSAY_OPERATOR(rsqrt, RsqrtOf);

}  // namespace
}  // namespace assay
