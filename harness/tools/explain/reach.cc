// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/reach.h"

#include <numeric>
#include <optional>

#include "harness/judge/judge_output.h"
#include "harness/tools/explain/wrong_places.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int64_t kOtherSlices = 8;  // beside those with wrong elements

// Whether something is promised for most elements: else they contradict nothing.
bool IsMostlyBounded(const ElementJudge& judge) {
  if (judge.IsBoundedEverywhere()) return true;
  const int64_t n = judge.golden().size();
  int64_t open = 0;
  for (int64_t i = 0; i < n; ++i) open += judge.IsOpen(i) ? 1 : 0;
  return 2 * open <= n;
}

// Roundings of exact data that a mistake has changed are not random.
bool HoldsFor(const WrongResult& result, const ErrorMetrics& metrics) {
  return result.is_exact ? metrics.Holds() : Holds(metrics);
}

bool IsRight(const WrongResult& result, const Problem& problem, size_t output, const std::vector<Tensor>& inputs,
             Tensor got) {
  const Golden golden = result.op.ComputeGolden(problem, output, inputs, result.tier);
  const BoundModel bound = result.op.Bound(problem, output, golden, result.contract);
  return IsMostlyBounded(ElementJudge(golden, bound, result.contract, got.dtype())) &&
         HoldsFor(result, JudgeOutput({result.op, problem, output, inputs, golden, bound, result.contract}, got));
}

void SpendOnJudging(const WrongResult& result, const Problem& problem, size_t output) {
  if (result.work != nullptr) result.work->Spend(EstimateSecondsOfJudging(result.op, problem, output));
}

// Whether some of the wrong elements are right in slices of the changed case.
bool HasRightWorst(const WrongResult& result, const Subproblem& part) {
  const Tensor& got = result.got[result.output];
  Tensor marks(got.dtype(), got.shape());
  std::vector<double> marked(static_cast<size_t>(got.size()) * (IsComplex(got.dtype()) ? 2 : 1));
  const size_t parts = marked.size() / static_cast<size_t>(got.size());
  SpendOnJudging(result, part.problem, result.output);
  for (const int64_t element : result.elements) marked[static_cast<size_t>(element) * parts] = 1;
  marks.SetDoubles(marked);
  marked = part.TakeOutput(marks).ToDoubles();
  const std::vector<double> values = part.TakeOutput(got).ToDoubles();
  const Golden golden = result.op.ComputeGolden(part.problem, result.output, part.inputs, result.tier);
  const BoundModel bound = result.op.Bound(part.problem, result.output, golden, result.contract);
  const ElementJudge judge(golden, bound, result.contract, got.dtype());
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] != 0 && !judge.Judge(static_cast<int64_t>(i), values[i]).accepted) return false;
  }
  return true;
}

// How the changed case explains the wrong places alone, from slices that hold all of them. nullopt: these are no small
// part of the case.
std::optional<Reach> FindReachOfSlices(const WrongResult& result, const Problem& problem,
                                       const std::vector<Tensor>& inputs, ResultFit* fit) {
  constexpr size_t kMostPlaces = 1 << 14;
  constexpr double kSmallPart = 1.0 / 8;
  const std::vector<int64_t> wrong = result.places->TakeAllWrong(kMostPlaces);
  if (wrong.empty()) return std::nullopt;
  const auto part = TakePart(result.op, problem, result.output, inputs, wrong, 0);
  if (!part || part->problem.flops > kSmallPart * problem.flops) return std::nullopt;
  SpendOnJudging(result, part->problem, result.output);
  const Tensor& got = result.got[result.output];
  Tensor numbers(DType::kF64, got.shape());
  std::vector<double> all(static_cast<size_t>(got.size()));
  std::iota(all.begin(), all.end(), 0.0);
  numbers.SetDoubles(all);
  std::vector<int64_t> of_slices;
  for (const double number : part->TakeOutput(numbers).ToDoubles()) of_slices.push_back(static_cast<int64_t>(number));
  const Golden golden = result.op.ComputeGolden(part->problem, result.output, part->inputs, result.tier);
  const BoundModel bound = result.op.Bound(part->problem, result.output, golden, result.contract);
  const ElementJudge judge(golden, bound, result.contract, got.dtype());
  ResultFit of_wrong;
  const auto bits = result.places->CountBitsOfSlices(judge, of_slices, of_wrong);
  if (!bits || *bits < result.least_bits) return Reach::kNothing;
  if (fit != nullptr) *fit = of_wrong;
  return Reach::kWrongPlaces;
}

}  // namespace

void SpendOnCopies(const WrongResult& result) {
  constexpr double kOfElement = 4e-9;
  if (result.work == nullptr) return;
  for (const Tensor& input : result.inputs) result.work->Spend(kOfElement * static_cast<double>(input.size()));
}

Reach FindReachOf(const Golden& golden, const WrongResult& result, const Problem& problem, size_t output,
                  const std::vector<Tensor>& inputs, Tensor got, const Golden* meant, ResultFit* fit, double& bits) {
  const BoundModel bound = result.op.Bound(problem, output, golden, result.contract);
  const ElementJudge judge(golden, bound, result.contract, got.dtype());
  if (!IsMostlyBounded(judge)) return Reach::kNothing;
  const ErrorMetrics metrics = JudgeOutput({result.op, problem, output, inputs, golden, bound, result.contract}, got);
  if (HoldsFor(result, metrics)) {
    if (fit != nullptr) *fit = MeasureFit(judge, metrics, got);
    const bool is_beside = result.least_bits == 0;  // then the other result tells it from what was meant
    if (meant == nullptr || is_beside) return Reach::kAll;
    Tensor other(got.dtype(), got.shape());
    other.SetDoubles(meant->value);
    return HoldsFor(result, JudgeOutput({result.op, problem, output, inputs, golden, bound, result.contract}, other))
               ? Reach::kNothing
               : Reach::kAll;
  }
  const auto of_output = result.places == nullptr ? std::nullopt : result.places->CountBits(output, judge, got);
  if (!of_output) return Reach::kNothing;
  bits += *of_output;
  if (fit != nullptr) *fit = result.places->Fit(judge, got);
  return Reach::kWrongPlaces;
}

Reach FindReach(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs,
                const Golden* meant, ResultFit* fit) {
  const auto part = TakePart(result.op, problem, result.output, inputs, result.elements, kOtherSlices);
  if (!part && problem.flops > result.most_flops) return Reach::kNothing;
  if (part) SpendOnJudging(result, part->problem, result.output);
  const Tensor& wrong = result.got[result.output];
  const bool may_be_all = !part || IsRight(result, part->problem, result.output, part->inputs, part->TakeOutput(wrong));
  if (!may_be_all && (result.places == nullptr || !HasRightWorst(result, *part))) return Reach::kNothing;
  if (!may_be_all) {
    const std::optional<Reach> of_slices = FindReachOfSlices(result, problem, inputs, fit);
    if (of_slices) return *of_slices;
    if (problem.flops > result.most_flops) return Reach::kNothing;
  }
  Reach reach = Reach::kAll;
  double bits = 0;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    SpendOnJudging(result, problem, k);
    const bool is_wrong = k == result.output;
    const Reach of_output =
        FindReachOf(result.op.ComputeGolden(problem, k, inputs, result.tier), result, problem, k, inputs,
                    result.got[k].Clone(), is_wrong ? meant : nullptr, is_wrong ? fit : nullptr, bits);
    if (of_output == Reach::kNothing) return Reach::kNothing;
    reach = std::min(reach, of_output);
  }
  return reach == Reach::kAll || bits >= result.least_bits ? reach : Reach::kNothing;
}

bool Holds(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs) {
  return FindReach(result, problem, inputs) == Reach::kAll;
}

}  // namespace assay
