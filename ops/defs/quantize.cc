// SPDX-License-Identifier: Apache-2.0
// The operator quantize: q = x / scale + zero, rounded to the nearest number of an 8-bit type, ties as the
// contract says, and saturated: what lies beyond the type's largest finite numbers becomes one of these, as in the
// saturating conversion of OCP's OFP8 specification. Infinities saturate too. NaN stays NaN in f8e4m3fn and f8e5m2;
// integers have none, and what NaN becomes in i8 and u8 is not defined: any value is right there. With saturate=0, as
// in ONNX's QuantizeLinear, what rounds beyond them is NaN in f8e4m3fn and infinite in f8e5m2. The code of zero is an
// attribute of the case, or an operand beside the scale. What is rounded is the sum. ONNX's QuantizeLinear and DirectML
// round the quotient before they add the code: where that is odd, quotients half way between two integers differ. Of an
// operand either is right, since the bound covers what an addition may round, and twins have even codes.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

Axes AxesOfScale(const std::string& per, const Axis& rows, const Axis& n) {
  if (per == "row") return rows;
  if (per == "column") return n;
  return {};
}

void RefuseZero(Definition& d, int64_t zero) {
  const bool is_u8 = d.TypeOfResult() == DType::kU8;
  d.RefuseIf(is_u8 && (zero < 0 || zero > 255), "zero is a code of u8: it must lie in [0, 255]");
  d.RefuseIf(!is_u8 && (zero < -128 || zero > 127), "zero is a code of i8: it must lie in [-128, 127]");
  d.RefuseIf(zero != 0 && IsFloat(d.TypeOfResult()), "zero must be 0: floating-point types have a zero of their own");
}

void Quantize(Definition& d) {
  d.SetDoc("q = x / scale + zero, rounded to nearest and saturated; any integer for NaN");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const std::string per = d.Choice("per", {"tensor", "row", "column"},
                                   "what has a scale of its own: scale is [rows] per row, [n] per column");
  const int64_t zero = d.Integer("zero", "0", "the code of zero; integers without zero_point only");
  RefuseZero(d, zero);
  const Expr x = d.In("x", rows + n);
  const Expr scale = d.In("scale", AxesOfScale(per, rows, n), Role::kScale);
  const int64_t saturate = d.Integer(
      "saturate", "1", "0: beyond its largest numbers e4m3 is NaN and e5m2 infinite; floats only", {"1", "0"});
  d.RefuseIf(saturate != 0 && saturate != 1, "saturate must be 0 or 1");
  d.RefuseIf(saturate == 0 && !IsFloat(d.TypeOfResult()),
             "saturate must be 1: integers have nothing beyond their ends");
  const std::optional<Expr> zero_point = d.InIfListed("zero_point", AxesOfScale(per, rows, n), Role::kZero);
  const Expr quotient = x / scale;
  d.RefuseIf(zero != 0 && zero_point, "zero must be 0: the operand zero_point has the codes of zero");
  const Expr code = zero_point ? quotient + *zero_point : zero != 0 ? quotient + static_cast<double>(zero) : quotient;
  if (saturate == 1) {
    d.OutSaturated("q", code, rows + n);
  } else {
    d.Out("q", code, rows + n);
  }
  d.SetTypes({"f32-f32-i8",    "bf16-f32-i8",    "f16-f32-i8",    "f32-f32-e4m3",   "bf16-f32-e4m3",
              "f16-f32-e4m3",  "f32-f32-e5m2",   "bf16-f32-e5m2", "f16-f32-e5m2",   "f32-f32-u8",
              "bf16-f32-u8",   "f16-f32-u8",     "f32-f32-i8-i8", "bf16-f32-i8-i8", "f16-f32-i8-i8",
              "f32-f32-u8-u8", "bf16-f32-u8-u8", "f16-f32-u8-u8", "f32-f32-i32-i8", "f32-f32-i32-u8"});
}

ASSAY_OPERATOR(quantize, Quantize);

}  // namespace
}  // namespace assay
