// SPDX-License-Identifier: Apache-2.0
// Matrix products and reductions as correct implementations compute them. Outputs are rounded to the output's type.
#pragma once

#include <span>
#include <vector>

#include "ops/operator.h"
#include "tests/support/simulate/schedule.h"

namespace assay::test {

std::vector<double> RunMatmul(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit);
std::vector<double> RunReduce(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit);

}  // namespace assay::test
