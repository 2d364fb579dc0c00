// SPDX-License-Identifier: Apache-2.0
// The operator cumsum: the sums of each row's beginnings.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void CumSumOf(formula::Definition& d) {
  d.SetDoc("y[i] = x[0] + ... + x[i] in each row");
  const formula::Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  d.Out("y", formula::CumSum(d.In("x", rows + n), n), rows + n);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32", "f16-f32"});
}

ASSAY_OPERATOR(cumsum, CumSumOf);

}  // namespace
}  // namespace assay
