// SPDX-License-Identifier: Apache-2.0
// The operator top_k: the k largest elements of each row in descending order, or the smallest in ascending order, and
// where they are. NaN counts as larger than any number, as in the orders of sorting that frameworks have.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void TopKOf(Definition& d) {
  d.SetDoc("values[i] is the i-th largest x of its row, indices[i] its place; NaN is larger than any number");
  const Axis rows = d.Axis("rows", "rows of x"), k = d.Axis("k", "how many of a row");
  const Axis n = d.Axis("n", "elements of a row");
  const Flag smallest = d.Flag("smallest", "1: the smallest ones, the smallest of all first");
  const std::string tie = d.Choice("tie", {"first", "any"}, "which of equal elements stands before the other");
  if (d.RefuseIf(k.extent > n.extent, "k must not be more than n: a row has n elements")) return;
  const Expr x = d.In("x", rows + n);
  const Selection top = TopK(x, n, k, {.smallest = smallest.on, .any_tie = tie == "any"});
  d.Out("values", top.values, rows + k);
  d.OutPlaces("indices", top.places, rows + k);
  d.SetTypes({"f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool"});
}

ASSAY_OPERATOR(top_k, TopKOf);

}  // namespace
}  // namespace assay
