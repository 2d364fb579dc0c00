// SPDX-License-Identifier: Apache-2.0
// The operator dequantize: what codes of 8 bits stand for, y = (q - zero) scale. Scale and the code of zero are those
// of the whole tensor, of each row or of each column. Without an operand zero it is 0: floating-point types have a zero
// of their own, and integers that are quantised symmetrically do. The difference of two codes is exact, so that the
// product alone rounds: q scale - zero scale, which cancels to many ulp near the code of zero, is another formula.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Dequantize(Definition& d) {
  d.SetDoc("y = (q - zero) scale, of codes of i8 and u8; y = q scale without zero, of e4m3 and e5m2 too");
  const Axis rows = d.Axis("rows", "rows of q"), n = d.Axis("n", "elements of a row");
  const std::string per = d.Choice("per", {"tensor", "row", "column"},
                                   "what has a scale and a zero of its own: both are [rows] per row, [n] per column");
  const Axes own = per == "row" ? Axes(rows) : per == "column" ? Axes(n) : Axes();
  const Expr q = d.In("q", rows + n);
  const Expr scale = d.In("scale", own, Role::kWeight);
  const std::optional<Expr> zero = d.InIfListed("zero", own, Role::kZero);
  d.Out("y", (zero ? Strict(q - *zero) : q) * scale, rows + n);
  d.SetTypes({"i8-f32-i8-f32", "i8-f32-i8-bf16", "i8-f32-i8-f16",  "u8-f32-u8-f32", "u8-f32-u8-bf16",
              "u8-f32-u8-f16", "i8-f32-i32-f32", "u8-f32-i32-f32", "u8-f32-f32",    "u8-f32-bf16",
              "u8-f32-f16",    "i8-f32-f32",     "i8-f32-bf16",    "i8-f32-f16",    "e4m3-f32-f32",
              "e4m3-f32-bf16", "e4m3-f32-f16",   "e5m2-f32-f32",   "e5m2-f32-bf16", "e5m2-f32-f16"});
}

ASSAY_OPERATOR(dequantize, Dequantize);

}  // namespace
}  // namespace assay
