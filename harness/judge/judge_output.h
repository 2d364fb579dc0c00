// SPDX-License-Identifier: Apache-2.0
// An output judged as it came back from a device: brought into its canonical form, then held against what is right.
#pragma once

#include <span>
#include <vector>

#include "harness/judge/metrics.h"
#include "harness/judge/twin_check.h"
#include "ops/operator.h"

namespace assay {

// References that an output is compared with. They must outlive this.
struct JudgedBy {
  const Operator& op;
  const Problem& problem;
  size_t number;  // which of the problem's outputs is judged
  const std::vector<Tensor>& inputs;
  const Golden& golden;
  const BoundModel& bound;
  const Contract& contract;
};

// `output` is canonical afterwards.
ErrorMetrics JudgeOutput(const JudgedBy& by, Tensor& output, const MeasureOptions& options = {});

// Judges the output for a twin's inputs, the `variant`-th of its contract.
TwinResult JudgeTwin(const Operator& op, const Problem& problem, size_t number, const Twin& twin, int variant,
                     Tensor& output);

}  // namespace assay
