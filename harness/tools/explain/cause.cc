// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/cause.h"

#include <algorithm>
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

// Whether `got` is right for these operands, and something else would not be: the right result of the case that was
// meant, if it is known.
bool IsRight(const WrongResult& result, const Problem& problem, size_t output, const std::vector<Tensor>& inputs,
             Tensor got, const Golden* meant = nullptr) {
  const Golden golden = result.op.ComputeGolden(problem, output, inputs, result.tier);
  const BoundModel bound = result.op.Bound(problem, output, golden, result.contract);
  if (!IsMostlyBounded(ElementJudge(golden, bound, result.contract, got.dtype()))) return false;
  const JudgedBy by{result.op, problem, output, inputs, golden, bound, result.contract};
  if (!Holds(JudgeOutput(by, got))) return false;
  if (meant == nullptr) return true;
  Tensor other(got.dtype(), got.shape());
  other.SetDoubles(meant->value);
  return !Holds(JudgeOutput(by, other));
}

// Whether all is one constant, as in memory that nobody has written.
bool IsConstant(const Tensor& tensor) {
  const std::vector<double> values = tensor.ToDoubles();
  return values.size() > 1 && std::ranges::all_of(values, [&](double x) { return x == values[0]; });
}

// Whether so few places are wrong that another selection may hit them by chance.
bool AreFewPlaces(const WrongResult& result) {
  constexpr size_t kFew = 4;
  return IsInt(result.got[result.output].dtype()) && result.elements.size() < kFew;
}

// Whether the result is right for these operands, on slices around wrong elements first.
bool Holds(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs,
           const Golden* meant = nullptr) {
  const auto part = TakePart(result.op, problem, result.output, inputs, result.elements, kOtherSlices);
  if (!part && problem.flops > kMostFlops) return false;
  const Tensor& wrong = result.got[result.output];
  if (part && !IsRight(result, part->problem, result.output, part->inputs, part->TakeOutput(wrong))) return false;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    const Golden* const other = k == result.output ? meant : nullptr;
    if (!IsRight(result, problem, k, inputs, result.got[k].Clone(), other)) return false;
  }
  return true;
}

}  // namespace

bool Explains(const WrongResult& result, const CaseChange& change) {
  const std::optional<Problem> problem = ChangeCase(result.op, result.problem, change);
  if (!problem) return false;
  if (!change.key.empty()) {
    const Golden* const meant =
        change.key == "tie" ? nullptr : &result.golden;  // any order takes the one that was meant
    return result.op.CheckInputs(*problem, result.inputs) && Holds(result, *problem, result.inputs, meant);
  }
  const std::vector<Tensor> inputs = ChangeInputs(result.inputs, change);
  return result.op.CheckInputs(*problem, inputs) && Holds(result, *problem, inputs, &result.golden);
}

std::vector<CaseChange> FindCauses(const WrongResult& result, double seconds) {
  const Stopwatch time;
  std::vector<CaseChange> causes;
  if (IsConstant(result.got[result.output]) || Holds(result, result.problem, result.inputs)) return causes;
  for (const CaseChange& change : ListChanges(result.op, result.problem)) {
    if (causes.size() == kMostCauses || time.Seconds() > seconds) break;
    if (AreFewPlaces(result) && change.key != "tie") continue;
    const bool is_known = !change.key.empty() && std::ranges::count(causes, change.key, &CaseChange::key) > 0;
    if (!is_known && Explains(result, change)) causes.push_back(change);
  }
  return causes;
}

}  // namespace assay
