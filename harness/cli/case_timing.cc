// SPDX-License-Identifier: Apache-2.0
// The timing phase of a case, and the judgement of what the timed runs left.
#include <fmt/format.h>

#include "harness/base/profile.h"
#include "harness/cli/case_runner.h"
#include "harness/cli/executions.h"
#include "harness/cli/record_fields.h"
#include "harness/perf/stopping.h"

namespace assay::cli {
namespace {

// Timing ends when the median is known to this relative accuracy, or when its time is over.
constexpr double kSettledMedian = 0.02;

}  // namespace

void CaseRunner::Time(const Column& column, Attempt& attempt) {
  const SpanContext context(planned_.spec.Id(), column.selector, attempt.implementation);
  const Span span(Phase::kTiming);
  const ContractData& contract = DataFor(attempt.contract);
  auto prepared = column.session->Prepare(column.device_index, data_.problem, attempt.implementation);
  if (!prepared) {
    SetFailure(attempt, prepared.error());
    return;
  }
  // The second set has other data, so that a kernel cannot get away with an old result.
  const CaseData* second = contract.twins.empty() ? SecondSet() : nullptr;
  attempt.record.second_set = !contract.twins.empty() ? "twin" : second != nullptr ? second->problem.spec.Id() : "same";
  const std::vector<Tensor>& other = !contract.twins.empty() ? contract.twins[0].inputs
                                     : second != nullptr     ? second->inputs
                                                             : data_.inputs;
  const std::vector<InputSet> sets = {PointersTo(data_.inputs), PointersTo(other)};
  TimingRequest request;
  request.warmup = 1;
  request.min_repetitions = 5;
  request.max_seconds = settings_.perf_time_s;
  request.enough = [](std::span<const double> seconds) { return MedianIsSettled(seconds, kSettledMedian); };
  auto timing = column.session->Time(prepared->plan, sets, request);
  column.session->Release(prepared->plan);
  if (!timing) {
    SetFailure(attempt, timing.error());
    return;
  }
  JudgeTimed(*timing, contract, attempt);
  if (attempt.verdict != Verdict::kPass) return;
  attempt.rounds.push_back(Summarise(timing->seconds));
  SetTiming(attempt.record, attempt.rounds, timing->clock_is_device);
}

void CaseRunner::JudgeTimed(const Timing& timing, const ContractData& contract, Attempt& attempt) const {
  const Span span(Phase::kCompare);
  const bool differs = attempt.record.second_set != "same";
  auto fail = [&](const std::string& what, const Tensor& output, size_t set) {
    const int other = contract.twins.empty() ? KeptOutput::kSecondSet : 0;
    attempt.kept.clear();
    attempt.kept.push_back({"timed", set == 1 && differs ? other : KeptOutput::kOwn, output.Clone()});
    attempt.verdict = Verdict::kMismatch;
    SetVerdict(attempt.record, Verdict::kMismatch, ResultClass::kNone,
               "in the timed loop, after passing outside it: " + what);
  };
  for (size_t set = 0; set < timing.judged.size(); ++set) {
    const Execution& execution = timing.judged[set];
    Tensor output = execution.output.Clone();
    if (const std::string effect = SideEffect(execution); !effect.empty()) {
      attempt.memory_fault = true;
      return fail(effect, output, set);
    }
    if (set == 1 && differs) {
      const std::string problem = ProblemOfSecondSet(contract, attempt, std::move(output));
      if (!problem.empty()) return fail(problem, execution.output, set);
    } else if (HashHex(HashBytes(output.data(), output.bytes())) != attempt.record.output_hash) {
      data_.op->Canonicalise(data_.problem, data_.inputs, output);
      const std::string problem = FirstProblem(Measure(data_.golden, contract.bound, attempt.contract, output));
      if (!problem.empty()) return fail(problem, execution.output, set);
      attempt.record.deterministic = false;
      if (attempt.contract.deterministic) {
        attempt.verdict = Verdict::kNondeterministic;
        // Rounds after the first have its hash alone.
        if (attempt.output.bytes() > 0) attempt.kept.push_back({"run1", KeptOutput::kOwn, attempt.output.Clone()});
        attempt.kept.push_back({"timed", KeptOutput::kOwn, execution.output.Clone()});
        SetVerdict(attempt.record, Verdict::kNondeterministic, ResultClass::kNone,
                   "the bits changed in the timed loop although the contract says det=yes");
      }
    }
  }
}

}  // namespace assay::cli
