// SPDX-License-Identifier: Apache-2.0
// The operator cumsum: the sums of each row's beginnings.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void CumSumOf(formula::Definition& d) {
  d.SetDoc("y[i] = x[0] + ... + x[i] in each row");
  const formula::Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  d.Out("y", formula::CumSum(d.In("x", rows + n), n), rows + n);
  // Sums of integers are those of registers of the result's type, which wrap around.
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32", "f16-f32", "i8", "u8", "i16", "i32", "i64", "i8-i32", "u8-i32",
              "i8-i64", "u8-i64", "i16-i64", "i32-i64", "bool-i64"});
}

ASSAY_OPERATOR(cumsum, CumSumOf);

}  // namespace
}  // namespace assay
