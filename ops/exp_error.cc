// SPDX-License-Identifier: Apache-2.0
#include "ops/exp_error.h"

#include <algorithm>
#include <cmath>

namespace assay {

OperationErrors::OperationErrors(const Contract& contract)
    : u(2 * contract.AccUnitRoundoff()),
      eps(std::max(contract.math_ulp, 0.5) * 2 * contract.AccUnitRoundoff()),
      in(contract.InputUnitRoundoff()),
      lambda(contract.ftz != Flush::kNone ? contract.AccMinNormal() : contract.AccMinSubnormal()),
      range(contract.AccMaxFinite()),
      flushes_inputs(contract.FlushesInputs()) {
  if (contract.mid == Intermediate::kNone) return;
  const FloatFormat& format = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16);
  mid = format.UnitRoundoff();
  mid_abs = contract.ftz != Flush::kNone ? format.MinNormal() : format.MinSubnormal() / 2;
  range = std::min(range, format.max_finite);
}

double RunningSumError(const OperationErrors& op, double n, double mean_rank) {
  const double summed = std::expm1((n + 1) * std::log1p(op.u) + std::log1p(op.eps) + std::log1p(op.mid));
  // (1 + e)^k - 1 is convex in k <= n - 1.
  const double most = n - 1, worst = std::expm1(most * (std::log1p(op.u) + std::log1p(op.eps)));
  const double rescaled = mean_rank > 0 ? mean_rank * (worst / most) : 0;
  return Join(summed, rescaled) + n * (2 * op.lambda + op.mid_abs);
}

std::vector<double> Exponentials(std::vector<double> row) {
  if (row.empty()) return row;
  const double largest = *std::ranges::max_element(row);
  for (double& x : row) x = std::exp(x - largest);
  return row;
}

}  // namespace assay
