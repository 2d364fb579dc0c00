// SPDX-License-Identifier: Apache-2.0
// The operator selective_scan: the recurrence of Mamba (Gu and Dao 2023, arXiv:2312.00752, algorithm 2), real-valued.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void SelectiveScan(Definition& d) {
  d.SetDoc("h_t = exp(delta_t A) h_(t-1) + delta_t B_t u_t, y_t = sum(C_t h_t) + D u_t, A = -exp(a_log)");
  const Axis b = d.Axis("b", "batches"), c = d.Axis("c", "channels");
  const Axis s = d.Axis("s", "states of a channel"), l = d.Axis("l", "positions");
  const Expr u = d.In("u", b + c + l);
  const Expr delta = d.In("delta", b + c + l, Role::kPositive);
  const Expr a_log = d.In("a_log", c + s, Role::kTable);
  const Expr in = d.In("b_t", b + s + l), out = d.In("c_t", b + s + l);
  const Expr skip = d.In("d_skip", c);
  const Expr h = Recur(Exp(delta * -Exp(a_log)), delta * u * in, l);
  d.Out("y", Sum(h * out, s) + skip * u, b + c + l);
}

ASSAY_OPERATOR(selective_scan, SelectiveScan);

}  // namespace
}  // namespace assay
