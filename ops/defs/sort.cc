// SPDX-License-Identifier: Apache-2.0
// The operators sort and argsort: the elements of each row in ascending or descending order, and where each of them
// was. NaN counts as larger than any number.
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

const std::vector<std::string> kSortedTypes = {"f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool"};

struct SortedRows {
  explicit SortedRows(Definition& d)
      : rows(d.Axis("rows", "rows of x")),
        n(d.Axis("n", "elements of a row")),
        descending(d.Flag("descending", "1: the largest first")),
        tie(d.Choice("tie", {"first", "any"}, "which of equal elements stands before the other")),
        ranks(d.DerivedAxis("n", n, 1)) {}
  SelectionOrder Order() const { return {.smallest = !descending.on, .any_tie = tie == "any"}; }

  Axis rows, n;
  Flag descending;
  std::string tie;
  Axis ranks;
};

void Sort(Definition& d) {
  d.SetDoc("values are the elements of a row in ascending order, indices their places; NaN is larger than any number");
  const SortedRows of(d);
  const Selection all = TopK(d.In("x", of.rows + of.n), of.n, of.ranks, of.Order());
  d.Out("values", all.values, of.rows + of.ranks);
  d.OutPlaces("indices", all.places, of.rows + of.ranks);
  d.SetTypes(kSortedTypes);
}

void ArgSort(Definition& d) {
  d.SetDoc("indices are the places of the elements of a row in ascending order; NaN is larger than any number");
  const SortedRows of(d);
  const Expr x = d.In("x", of.rows + of.n);
  d.Out("indices", TopKPlaces(x, of.n, of.ranks, of.Order()), of.rows + of.ranks);
  std::vector<std::string> lists = {"f32-i32", "bf16-i32"};
  for (const std::string& type : kSortedTypes) lists.push_back(type + "-i64");
  d.SetTypes(lists);
}

ASSAY_OPERATOR(argsort, ArgSort);
ASSAY_OPERATOR(sort, Sort);

}  // namespace
}  // namespace assay
