// SPDX-License-Identifier: Apache-2.0
// The operators cumsum and cumprod, the sums and the products of each row's beginnings, and associative_scan, of which
// both are cases: its steps (a, b) after (a', b') are (a a', a b' + b), in any order of joining neighbours (Blelloch,
// Prefix Sums and Their Applications, 1990).
#include "ops/formula_operator/formula_operator.h"

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

// h_t = x_t h_(t-1), whose first one is x_0.
void CumProdOf(formula::Definition& d) {
  d.SetDoc("y[i] = x[0] ... x[i] in each row");
  const formula::Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row");
  const formula::Expr x = d.In("x", rows + n), zero = formula::Const(*x.graph, 0);
  const formula::Expr is_first = formula::Equal(formula::Index(*x.graph, n), zero);
  d.Out("y", formula::Recur(x, formula::Select(is_first, x, zero), n), rows + n);
}

void AssociativeScan(formula::Definition& d) {
  d.SetDoc("h[t] = a[t] h[t-1] + b[t] in each row, from h[-1] = 0");
  const formula::Axis rows = d.Axis("rows", "rows of a"), n = d.Axis("n", "elements of a row");
  const formula::Expr a = d.In("a", rows + n, formula::Role::kUnit), b = d.In("b", rows + n);
  d.Out("h", formula::Recur(a, b, n), rows + n);
  d.SetTypes({"f32", "bf16", "f16", "f64", "f32-bf16-bf16", "f32-f16-f16"});
}

ASSAY_OPERATOR(associative_scan, AssociativeScan);
ASSAY_OPERATOR(cumprod, CumProdOf);
ASSAY_OPERATOR(cumsum, CumSumOf);

}  // namespace
}  // namespace assay
