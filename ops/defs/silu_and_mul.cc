// SPDX-License-Identifier: Apache-2.0
// The operator silu_and_mul: the first half of each row, through x sigmoid(x), gates the second half.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void SiluAndMul(Definition& d) {
  d.SetDoc("y = g sigmoid(g) u, g and u the halves of each row of x");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row of y");
  const Axis both = d.DerivedAxis("2*n", n, 2);
  const Expr x = d.In("x", rows + both);
  const Expr gate = At(x, both, n, [](int64_t i) { return i; });
  const Expr up = At(x, both, n, [&](int64_t i) { return n.extent + i; });
  d.Out("y", gate * Sigmoid(gate) * up, rows + n);
}

ASSAY_OPERATOR(silu_and_mul, SiluAndMul);

}  // namespace
}  // namespace assay
