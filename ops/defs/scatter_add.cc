// SPDX-License-Identifier: Apache-2.0
// The operator scatter_add: rows of updates are added to the rows of x at the places that an operand holds, in any
// order. A row may get several or none. It is the index_add of frameworks, and the gradient of gather.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void ScatterAddRows(Definition& d) {
  d.SetDoc("y = x, and to y[indices[i]] the row updates[i] is added, for each i and in any order");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "rows that are added");
  const Axis size = d.Axis("d", "elements of a row");
  const Expr x = d.In("x", rows + size);
  const Expr indices = d.InPlaces("indices", n, rows);
  const Expr updates = d.In("updates", n + size);
  d.Out("y", ScatterAdd(x, updates, indices, rows), rows + size);
  d.SetTypes({"f32-i64-f32-f32", "bf16-i64-bf16-bf16", "f16-i64-f16-f16", "f64-i64-f64-f64", "f32-i32-f32-f32",
              "f32-i64-bf16-f32", "i8-i64-i8-i8", "i32-i64-i32-i32", "i64-i64-i64-i64"});
}

ASSAY_OPERATOR(scatter_add, ScatterAddRows);

}  // namespace
}  // namespace assay
