// SPDX-License-Identifier: Apache-2.0
// The operator log: y = log(x) for each element.
#include "ops/formula_operator.h"

namespace assay {
namespace {

void LogOf(formula::Definition& d) {
  d.SetDoc("y = log(x)");
  const formula::Axis n = d.Axis("n", "elements");
  d.Out("y", formula::Log(d.In("x", n, formula::Role::kPositive)), n);
}

ASSAY_OPERATOR(log, LogOf);

}  // namespace
}  // namespace assay
