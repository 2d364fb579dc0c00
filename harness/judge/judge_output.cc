// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/judge_output.h"

namespace assay {

ErrorMetrics JudgeOutput(const JudgedBy& by, Tensor& output, const MeasureOptions& options) {
  by.op.Canonicalise(by.problem, by.number, by.inputs, output);
  return Measure(by.golden, by.bound, by.contract, output, options);
}

TwinResult JudgeTwin(const Operator& op, const Problem& problem, size_t number, const Twin& twin, int variant,
                     Tensor& output) {
  op.Canonicalise(problem, number, twin.inputs, output);
  return CheckTwin(twin, variant, output);
}

}  // namespace assay
