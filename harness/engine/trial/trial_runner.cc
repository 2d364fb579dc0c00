// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/trial_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "harness/core/base/profile.h"
#include "harness/engine/timing/operand_sets.h"
#include "harness/engine/trial/other_layouts.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/repeated_calls.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/engine/trial/trial.h"
#include "harness/judge/error_map.h"

namespace assay {
namespace {

constexpr int64_t kMostMapped = 10'000'000;  // elements of an output whose errors are mapped

// Restarts the worker, since it may have overwritten memory that later executions need.
void RestartAfterFault(const Device& device, const Attempt& attempt) {
  if (attempt.memory_fault) device.session->Restart();
}

}  // namespace

TrialRunner::TrialRunner(const PlannedCase& planned, const PreparedCase& data, const RunnerSettings& settings)
    : context_(planned, data), settings_(settings) {}

void TrialRunner::Judge(const Device& device, const std::function<void(Attempt)>& done, const Offered& offered,
                        const std::set<std::string>& judged) {
  const auto only = [&](const WorkerFailure& failure) {
    Attempt attempt;
    attempt.SetFailure(failure);
    FillRecord(device, attempt);
    done(std::move(attempt));
  };
  if (!device.problem.empty()) return only({device.problem_kind, device.problem});
  const std::string id = context_.planned().spec.Id();
  const SpanContext context(id, device.selector, "");
  auto implementations = context_.offers().Find(device, context_.problem());
  if (!implementations) return only(implementations.error());

  std::erase_if(*implementations, [&](const ImplementationInfo& implementation) {
    const auto& wanted = settings_.implementations;
    return !wanted.empty() && std::ranges::find(wanted, implementation.name) == wanted.end();
  });
  std::vector<std::string> names;
  for (const ImplementationInfo& implementation : *implementations) names.push_back(implementation.name);
  if (offered) offered(names);

  std::vector<Agreement> agreements(context_.data().outputs.size());
  for (const ImplementationInfo& implementation : *implementations) {
    if (settings_.interrupted()) break;
    if (judged.contains(implementation.name)) continue;
    const SpanContext here(id, device.selector, implementation.name);
    Attempt attempt = NewAttempt(implementation);
    DoGuarded(attempt, [&] {
      Try(device, implementation, attempt);
      if (judged.empty()) NoteAgreement(attempt, agreements);  // else of those that have a verdict no output is left
    });
    RestartAfterFault(device, attempt);
    FillRecord(device, attempt);
    if (settings_.keep_outputs && !attempt.outputs.empty()) {
      settings_.keep_outputs(attempt.record, context_.problem(), attempt.outputs);
    }
    done(std::move(attempt));
  }
}

// A fresh worker is asked anew, whatever the one before it answered.
Attempt TrialRunner::JudgeAgain(const Device& device, const std::string& implementation) {
  const SpanContext context(context_.planned().spec.Id(), device.selector, implementation);
  Attempt attempt = NewAttempt({implementation, ""});
  const auto offered = device.session->Query(device.device_index, context_.problem());
  const auto is_withdrawn = [&](const WorkerFailure& failure) {
    return !implementation.empty() && failure.kind == FailureKind::kUnsupported;
  };
  if (!offered && is_withdrawn(offered.error())) {
    attempt.SetFailure({FailureKind::kError, "it is not offered any more: " + offered.error().message});
  } else if (!offered) {
    attempt.SetFailure(offered.error());
  } else if (const auto found = std::ranges::find(*offered, implementation, &ImplementationInfo::name);
             found != offered->end()) {
    attempt = NewAttempt(*found);
    DoGuarded(attempt, [&] { Try(device, *found, attempt); });
  } else if (implementation.empty()) {
    attempt.SetVerdict(Verdict::kPass, ResultClass::kNone,
                       fmt::format("it offers {}", Counted(std::ssize(*offered), "implementation")));
  } else {
    attempt.SetFailure({FailureKind::kError, "it is not offered any more"});
  }
  RestartAfterFault(device, attempt);
  FillRecord(device, attempt);
  return attempt;
}

Attempt TrialRunner::Faulted(const Device& device, const std::exception& fault) const {
  Attempt attempt;
  attempt.SetFault(fault);
  FillRecord(device, attempt);
  return attempt;
}

Attempt TrialRunner::NewAttempt(const ImplementationInfo& implementation) const {
  Attempt attempt;
  attempt.implementation = implementation.name;
  attempt.contract_text = implementation.contract_text;
  return attempt;
}

void TrialRunner::Try(const Device& device, const ImplementationInfo& implementation, Attempt& attempt) {
  const Span span(Phase::kJudge);
  auto contract = ParseDeclaration(implementation.contract_text);
  if (!contract) {
    return attempt.SetFailure(
        {FailureKind::kError,
         fmt::format("the plugin declares '{}' for {}, which is not a valid contract: {}", implementation.contract_text,
                     implementation.name, contract.error().message)});
  }
  if (const Status known = CheckDeclared(*context_.data().op, context_.problem().spec.dtypes, *contract); !known) {
    return attempt.SetFailure(
        {FailureKind::kError, fmt::format("the plugin declares '{}' for {}: {}", implementation.contract_text,
                                          implementation.name, known.error().message)});
  }
  attempt.contract = *contract;
  attempt.contract_text = ToText(*contract);
  const ContractData& by = context_.DataFor(attempt.contract);
  auto plan = PreparedPlan::Make(device, context_.problem(), implementation.name);
  if (!plan) return attempt.SetFailure(plan.error());
  attempt.prepare_s = plan->seconds();
  attempt.plan = plan->description();
  attempt.prepared_by = device.session->workers_started();
  const bool thorough = context_.planned().thorough;
  const bool is_sample = context_.data().whole.has_value();  // which has none of the data of other executions
  const bool brief = is_sample || (!thorough && settings_.relations == RelationEffort::kQuick);
  Call<void> ran = Trial(context_, device, by, attempt).Run(*plan, brief ? RelationEffort::kNone : settings_.relations);
  const bool timed = settings_.perf_time_s > 0 && context_.planned().timed;
  const bool repeats = settings_.repetitions > 0 && !timed && !is_sample && IsCheapToRepeat(context_.problem());
  if (ran && repeats && attempt.holds_as_declared) ran = Repeat(device, *plan, by, attempt);
  const Call<void> freed = plan->Release();
  if (!ran || !freed) {
    attempt.findings.reset();
    return attempt.SetFailure(ran ? freed.error() : ran.error());
  }
  const bool failed = attempt.verdict == Verdict::kMismatch || attempt.verdict == Verdict::kNondeterministic ||
                      std::ranges::any_of(attempt.findings->outputs, [](const OutputFindings& output) {
                        return output.observed.weaker_arithmetic.has_value();
                      });
  if (!failed) JudgeOtherLayouts(context_, device, by, attempt);
  if (IsFailingResult(attempt.verdict)) SetErrorMap(by, attempt);
  if (attempt.verdict == Verdict::kMismatch && settings_.explain && !is_sample) {
    attempt.reason += settings_.explain(context_.data(), attempt);
  }
}

void TrialRunner::SetErrorMap(const ContractData& by, Attempt& attempt) const {
  const size_t output = attempt.findings->worst;
  if (context_.data().whole || attempt.outputs.empty() || attempt.outputs[output].size() > kMostMapped) return;
  const ElementJudge judge(context_.data().outputs[output].golden, by.outputs[output].bound, attempt.contract,
                           attempt.outputs[output].dtype());
  attempt.error_map = ErrorMapField(judge, attempt.outputs[output]);
}

void TrialRunner::NoteAgreement(Attempt& attempt, std::vector<Agreement>& agreements) const {
  if (attempt.verdict != Verdict::kPass || settings_.relations == RelationEffort::kNone) return;
  const Span span(Phase::kRelations);
  const ContractData& by = *context_.DataOf(attempt);
  for (size_t k = 0; k < agreements.size(); ++k) {
    attempt.findings->outputs[k].agreement =
        agreements[k].Add(context_.data(), by.outputs[k].bound, attempt.implementation, attempt.outputs[k], k);
  }
}

Record TrialRunner::NewRecord(const Device& device) const {
  const PlannedCase& planned = context_.planned();
  Record record = MakeCaseRecord(planned, context_.data(), device);
  record.required_contract = context_.required_text();
  record.plan_hash = settings_.plan_hash;
  if (settings_.sweep) record.sweep = SweepPoint(planned.spec, *settings_.sweep, context_.data().op->schema());
  return record;
}

void TrialRunner::FillRecord(const Device& device, Attempt& attempt) const {
  attempt.record = NewRecord(device);
  attempt.record.reproduce = ReproductionLine(settings_, context_.planned(), device, attempt.implementation);
  SetAttempt(attempt.record, context_.problem(), attempt);
  if (context_.data().whole && attempt.findings) {
    OutputSample sample = context_.data().whole->sample;
    sample.unseen = attempt.findings->unseen;
    SetSample(sample, *attempt.findings, attempt.record);
    attempt.reason = attempt.record.reason;
  }
  attempt.findings.reset();
}

}  // namespace assay
