// SPDX-License-Identifier: Apache-2.0
// The operator dequantize: what the codes of i8 stand for, y = (q - zero) scale. Scale and the code of zero are those
// of the whole tensor, of each row or of each column.
#include "ops/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Dequantize(Definition& d) {
  d.SetDoc("y = (q - zero) scale, of codes of i8");
  const Axis rows = d.Axis("rows", "rows of q"), n = d.Axis("n", "elements of a row");
  const std::string per = d.Choice("per", {"tensor", "row", "column"},
                                   "what has a scale and a zero of its own: both are [rows] per row, [n] per column");
  const Axes own = per == "row" ? Axes(rows) : per == "column" ? Axes(n) : Axes();
  const Expr q = d.In("q", rows + n);
  const Expr scale = d.In("scale", own, Role::kWeight);
  const Expr zero = d.In("zero", own, Role::kOffset);
  d.Out("y", (q - zero) * scale, rows + n);
  d.SetTypes({"i8-f32-i8-f32", "i8-f32-i8-bf16", "i8-f32-i8-f16"});
}

ASSAY_OPERATOR(dequantize, Dequantize);

}  // namespace
}  // namespace assay
