// SPDX-License-Identifier: Apache-2.0
// Softmax as correct implementations compute it: three passes or online by blocks, division or reciprocal, functions as
// bad as declared.
#pragma once

#include "ops/operator.h"
#include "tests/support/simulate/functions.h"

namespace assay::test {

inline constexpr const char* kSoftmaxFills[] = {"uniform",   "normal",  "lognormal", "outlier",
                                                "subnormal", "special", "pow2",      "large"};

// One legal way to compute a row.
struct SoftmaxForm {
  Schedule schedule;
  Bias bias = Bias::kNone;
  int64_t block = 0;  // 0: three passes; else online with this block
  bool reciprocal = false;
};

std::vector<SoftmaxForm> AllSoftmaxForms(uint64_t seed);

std::vector<double> RunSoftmaxRow(const Problem& problem, const std::vector<double>& x, const Contract& contract,
                                  const SoftmaxForm& form);

}  // namespace assay::test
