// SPDX-License-Identifier: Apache-2.0
// The operator sort: the elements of each row in ascending or descending order, and where each of them was. NaN counts
// as larger than any number.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Sort(Definition& d) {
  d.SetDoc("values are the elements of a row in ascending order, indices their places; NaN is larger than any number");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const Flag descending = d.Flag("descending", "1: the largest first");
  const std::string tie = d.Choice("tie", {"first", "any"}, "which of equal elements stands before the other");
  const Axis ranks = d.DerivedAxis("n", n, 1);
  const Expr x = d.In("x", rows + n);
  const Selection all = TopK(x, n, ranks, {.smallest = !descending.on, .any_tie = tie == "any"});
  d.Out("values", all.values, rows + ranks);
  d.OutPlaces("indices", all.places, rows + ranks);
  d.SetTypes({"f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool"});
}

ASSAY_OPERATOR(sort, Sort);

}  // namespace
}  // namespace assay
