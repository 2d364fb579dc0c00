// SPDX-License-Identifier: Apache-2.0
// The operator gather: rows of a table at the places that an operand holds, as the embedding of tokens is. Rows may be
// asked for more than once.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void GatherRows(Definition& d) {
  d.SetDoc("y[i] = table[indices[i]]");
  const Axis v = d.Axis("v", "rows of the table"), n = d.Axis("n", "rows of y");
  const Axis size = d.Axis("d", "elements of a row");
  const Expr table = d.In("table", v + size);
  const Expr indices = d.InPlaces("indices", n, v);
  d.Out("y", Gather(table, v, indices), n + size);
  d.SetTypes({"f32-i64-f32", "bf16-i64-bf16", "f16-i64-f16", "f64-i64-f64", "f32-i32-f32", "bf16-i32-bf16", "i8-i64-i8",
              "i32-i64-i32", "i64-i64-i64", "bool-i64-bool"});
}

ASSAY_OPERATOR(gather, GatherRows);

}  // namespace
}  // namespace assay
