// SPDX-License-Identifier: Apache-2.0
// Rows and columns at places that are data.

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Embedding(Definition& d) {
  d.SetDoc("y[i,j] = scale table[tokens[i,j]]");
  const Axis v = d.Axis("v", "rows of the table"), b = d.Axis("b", "batches"), l = d.Axis("l", "tokens of a batch");
  const Axis size = d.Axis("d", "elements of a row");
  const double scale = d.Real("scale", "1", "factor of the rows");
  const Expr table = d.In("table", v + size);
  const Expr tokens = d.InPlaces("tokens", b + l, v);
  const Expr rows = Gather(table, v, tokens);
  d.Out("y", scale == 1 ? rows : scale * rows, b + l + size);
  d.SetTypes({"f32-i64-f32", "bf16-i64-bf16", "f16-i64-f16", "f64-i64-f64", "f32-i32-f32", "bf16-i32-bf16"});
}

void IndexSelect(Definition& d) {
  d.SetDoc("y = the rows of x, or with axis=1 its columns, that indices name, in their order");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row"), k = d.Axis("k", "indices");
  const bool of_rows = d.Choice("axis", {"0", "1"}, "along which they are places") == "0";
  const Expr x = d.In("x", rows + n);
  const Expr indices = d.InPlaces("indices", k, of_rows ? rows : n);
  d.Out("y", Gather(x, of_rows ? rows : n, indices), of_rows ? k + n : rows + k);
  d.SetTypes({"f32-i64-f32", "bf16-i64-bf16", "f16-i64-f16", "f64-i64-f64", "f32-i32-f32", "i8-i64-i8", "i32-i64-i32",
              "i64-i64-i64", "bool-i64-bool"});
}

ASSAY_OPERATOR(embedding, Embedding);
ASSAY_OPERATOR(index_select, IndexSelect);

}  // namespace
}  // namespace assay
