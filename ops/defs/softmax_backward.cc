// SPDX-License-Identifier: Apache-2.0
// The operator softmax_backward: the gradient of a softmax, from its result y and the gradient of that.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void SoftmaxBackward(Definition& d) {
  d.SetDoc("dx = y (dy - sum of y dy), the sum of each row");
  const Axis rows = d.Axis("rows", "rows"), n = d.Axis("n", "elements of a row");
  const Expr y = d.In("y", rows + n, Role::kPositive), dy = d.In("dy", rows + n);
  d.Out("dx", y * (dy - Sum(y * dy, n)), rows + n);
}

ASSAY_OPERATOR(softmax_backward, SoftmaxBackward);

}  // namespace
}  // namespace assay
