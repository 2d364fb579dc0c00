// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/cause.h"

#include <optional>

#include "harness/core/base/stopwatch.h"
#include "harness/judge/judge.h"
#include "harness/judge/judge_output.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int64_t kOtherSlices = 8;  // beside those with wrong elements
constexpr double kMostFlops = 1e8;   // of a case that has no slices

// Whether something is promised for most elements: else they contradict nothing.
bool IsMostlyBounded(const ElementJudge& judge) {
  if (judge.IsBoundedEverywhere()) return true;
  const int64_t n = judge.golden().size();
  int64_t open = 0;
  for (int64_t i = 0; i < n; ++i) open += judge.Unbounded(i) ? 1 : 0;
  return 2 * open <= n;
}

bool IsRight(const WrongResult& result, const Problem& problem, size_t output, const std::vector<Tensor>& inputs,
             Tensor got) {
  const Golden golden = result.op.ComputeGolden(problem, output, inputs, result.tier);
  const BoundModel bound = result.op.Bound(problem, output, golden, result.contract);
  if (!IsMostlyBounded(ElementJudge(golden, bound, result.contract, got.dtype()))) return false;
  return Holds(JudgeOutput({result.op, problem, output, inputs, golden, bound, result.contract}, got));
}

// Whether the result is right for these operands, on slices around wrong elements first.
bool Holds(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs) {
  const auto part = TakePart(result.op, problem, result.output, inputs, result.elements, kOtherSlices);
  if (!part && problem.flops > kMostFlops) return false;
  const Tensor& wrong = result.got[result.output];
  if (part && !IsRight(result, part->problem, result.output, part->inputs, part->TakeOutput(wrong))) return false;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    if (!IsRight(result, problem, k, inputs, result.got[k].Clone())) return false;
  }
  return true;
}

}  // namespace

bool Explains(const WrongResult& result, const CaseChange& change) {
  const std::optional<Problem> problem = ChangeCase(result.op, result.problem, change);
  if (!problem) return false;
  if (!change.key.empty()) {
    return result.op.CheckInputs(*problem, result.inputs) && Holds(result, *problem, result.inputs);
  }
  const std::vector<Tensor> inputs = ChangeInputs(result.inputs, change);
  return result.op.CheckInputs(*problem, inputs) && Holds(result, *problem, inputs);
}

std::vector<CaseChange> FindCauses(const WrongResult& result, double seconds) {
  const Stopwatch time;
  std::vector<CaseChange> causes;
  if (Holds(result, result.problem, result.inputs)) return causes;
  for (const CaseChange& change : ListChanges(result.op, result.problem)) {
    if (causes.size() == kMostCauses || time.Seconds() > seconds) break;
    if (Explains(result, change)) causes.push_back(change);
  }
  return causes;
}

}  // namespace assay
