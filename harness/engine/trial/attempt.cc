// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/attempt.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/results/missing.h"
#include "harness/engine/results/record_case.h"

namespace assay {

bool IsFailingResult(Verdict verdict) {
  return verdict == Verdict::kMismatch || verdict == Verdict::kBelowContract || verdict == Verdict::kNondeterministic;
}

void Attempt::SetVerdict(Verdict of, ResultClass of_class, const std::string& why) {
  verdict = of;
  holds_as_declared = of == Verdict::kPass;
  result_class = of_class;
  reason = why;
  assay::SetVerdict(record, of, of_class, why);
  SetDecidedBy("");
}

void Attempt::SetDecidedBy(std::string_view what) {
  decided_by = record.decided_by = what;
}

void Findings::Decide() {
  std::vector<Decision> decisions;
  for (OutputFindings& output : outputs) {
    output.decision = assay::Decide(output.observed);
    decisions.push_back(output.decision);
  }
  worst = WorstOf(decisions);
  if (!HasNoElements(outputs[worst].observed) || decisions[worst].verdict != Verdict::kPass) return;
  // That proves nothing, unless a user asks about these very tensors.
  const auto judged = std::ranges::find_if_not(outputs, HasNoElements, &OutputFindings::observed);
  if (judged != outputs.end()) {
    worst = static_cast<size_t>(judged - outputs.begin());
  } else if (!outputs[worst].observed.user_data) {
    outputs[worst].decision.verdict = Verdict::kInconclusive;
  }
}

void AddObservations(const Execution& execution, Findings& findings) {
  JudgeInputs& observed = findings.outputs[execution.damaged_output].observed;
  for (const std::string& violation : execution.guard_violations) {
    ++observed.guard_violations;
    if (observed.guard_where.empty()) observed.guard_where = violation;
  }
  for (const std::string& changed : execution.changed_inputs) {
    auto& known = observed.changed_inputs;
    if (std::find(known.begin(), known.end(), changed) == known.end()) known.push_back(changed);
  }
}

std::string NamingOutput(const Problem& problem, size_t output) {
  return problem.outputs.size() < 2 ? "" : fmt::format("output {}: ", problem.outputs[output].name);
}

void Attempt::SetVerdictOf(size_t output, Verdict of, ResultClass of_class, const std::string& why) {
  if (findings) {
    findings->worst = output;
    Decision& decision = findings->outputs[output].decision;
    decision.verdict = of, decision.result_class = of_class;
  }
  if (output < record.outputs.size()) {
    record.worst_output = record.outputs[output].name;
    record.outputs[output].verdict = Name(of);
    record.outputs[output].result_class = Name(of_class);
  }
  SetVerdict(of, of_class, why);
}

void Attempt::SetFailure(const WorkerFailure& failure) {
  if (failure.kind == FailureKind::kInterrupted) {
    interrupted = true;
    return;
  }
  memory_fault = memory_fault || failure.kind == FailureKind::kMemoryFault;
  harness_failed = harness_failed || failure.kind == FailureKind::kHost;
  failed_by = failure.kind;
  SetVerdict(RuleOf(failure.kind).verdict, ResultClass::kNone, failure.message);
}

void Attempt::SetFault(const std::exception& fault) {
  findings.reset();  // of a judgement that has no end
  kept.clear();
  harness_failed = true;
  failed_by.reset();
  record.fault = kHarnessBackend;
  SetVerdict(Verdict::kError, ResultClass::kNone, DescribeException(fault));
}

}  // namespace assay
