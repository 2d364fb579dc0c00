// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/cli/record_fields.h"
#include "harness/cli/stopwatch.h"
#include "harness/compare/histogram.h"
#include "harness/exec/observations.h"

namespace assay::cli {
namespace {

constexpr Prefill kPrefills[] = {Prefill::kNanPayload, Prefill::kSentinel};

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

InputSet Pointers(const std::vector<Tensor>& tensors) {
  InputSet set;
  for (const Tensor& t : tensors) set.push_back(&t);
  return set;
}

void SetFailure(Attempt& attempt, const WorkerFailure& failure) {
  attempt.verdict = VerdictOf(failure.outcome);
  SetVerdict(attempt.record, attempt.verdict, ResultClass::kNone, failure.message);
}

// Side effects of one execution that no correct implementation has.
void AddObservations(const Execution& execution, Evidence& evidence) {
  for (const std::string& violation : execution.guard_violations) {
    ++evidence.guard_violations;
    if (evidence.guard_where.empty()) evidence.guard_where = violation;
  }
  for (const std::string& changed : execution.changed_inputs) {
    if (std::find(evidence.changed_inputs.begin(), evidence.changed_inputs.end(), changed) ==
        evidence.changed_inputs.end()) {
      evidence.changed_inputs.push_back(changed);
    }
  }
}

}  // namespace

Verdict VerdictOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnsupported:
      return Verdict::kUnsupported;
    case Outcome::kUnavailable:
      return Verdict::kUnavailable;
    case Outcome::kCrash:
      return Verdict::kCrash;
    case Outcome::kTimeout:
      return Verdict::kTimeout;
    default:
      return Verdict::kError;
  }
}

CaseRunner::CaseRunner(const PlannedCase& planned, const CaseData& data, const RunnerSettings& settings)
    : planned_(planned), data_(data), settings_(settings) {
  required_text_ = planned.requirement.empty() ? DefaultRequirement(planned.spec) : planned.requirement;
  required_ = ParseRequirement(required_text_).value();  // checked when the suite was read
  const std::string fields = data.op->RequiredFields(data.problem);
  if (fields.empty()) return;
  // A suite that states one of these fields itself has the last word: a field cannot be given twice.
  const std::string text = required_text_ + ";" + fields;
  if (const Result<Contract> required = ParseRequirement(text)) {
    required_text_ = text;
    required_ = *required;
  }
}

Record CaseRunner::NewRecord(const Column& column) const {
  Record record = CaseRecord(planned_, data_, column);
  record.required_contract = required_text_;
  record.plan_hash = settings_.plan_hash;
  return record;
}

Result<const ContractData*> CaseRunner::ContractFor(const ImplementationInfo& implementation, Contract& parsed) {
  auto contract = ParseDeclaration(implementation.contract_text);
  if (!contract) {
    return Fail(ErrorCode::kInternal,
                fmt::format("the plugin declares '{}' for {}, which is not a contract: {}",
                            implementation.contract_text, implementation.name, contract.error().message));
  }
  parsed = *contract;
  const std::string key = ToText(parsed);
  auto it = contracts_.find(key);
  if (it == contracts_.end()) it = contracts_.emplace(key, PrepareContract(data_, parsed)).first;
  return &it->second;
}

std::vector<Attempt> CaseRunner::Judge(const Column& column) {
  auto only = [&](const WorkerFailure& failure) {
    std::vector<Attempt> attempts(1);
    attempts[0].record = NewRecord(column);
    SetFailure(attempts[0], failure);
    attempts[0].record.reproduce = ReproductionLine(settings_, planned_, column, "");
    return attempts;
  };
  if (!column.problem.empty()) return only({column.problem_outcome, column.problem});
  auto implementations = column.session->Query(column.device_index, data_.problem);
  if (!implementations) return only(implementations.error());

  std::vector<Attempt> attempts;
  for (const ImplementationInfo& implementation : *implementations) {
    const auto& wanted = settings_.implementations;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), implementation.name) == wanted.end()) continue;
    if (settings_.interrupted()) break;
    attempts.push_back(JudgeImplementation(column, implementation));
  }
  return attempts;
}

Attempt CaseRunner::JudgeImplementation(const Column& column, const ImplementationInfo& implementation) {
  Attempt attempt;
  attempt.implementation = implementation.name;
  attempt.record = NewRecord(column);
  attempt.record.implementation = implementation.name;
  attempt.record.contract = implementation.contract_text;
  attempt.record.reproduce = ReproductionLine(settings_, planned_, column, implementation.name);

  auto contract = ContractFor(implementation, attempt.contract);
  if (!contract) {
    SetFailure(attempt, {Outcome::kError, contract.error().message});
    return attempt;
  }
  attempt.record.contract = ToText(attempt.contract);
  auto prepared = column.session->Prepare(column.device_index, data_.problem, implementation.name);
  if (!prepared) {
    SetFailure(attempt, prepared.error());
    return attempt;
  }
  attempt.record.prepare_s = prepared->prepare_s;
  auto evidence = Execute(column, prepared->plan, **contract, attempt);
  column.session->Release(prepared->plan);
  if (!evidence) {
    SetFailure(attempt, evidence.error());
    return attempt;
  }
  const Decision decision = Decide(*evidence);
  attempt.verdict = decision.verdict;
  SetVerdict(attempt.record, decision.verdict, decision.result_class, decision.reason);
  SetMetrics(attempt.record, *evidence, decision);
  return attempt;
}

Call<Evidence> CaseRunner::Execute(const Column& column, uint64_t plan, const ContractData& contract,
                                   Attempt& attempt) {
  Evidence evidence;
  evidence.shape = data_.problem.output.shape;
  evidence.declared = attempt.contract;
  evidence.required = required_;
  evidence.power = contract.power;
  double execute_s = 0, compare_s = 0;
  std::vector<Tensor> raw;  // as they came back, for bits and prefills
  for (size_t run = 0; run < 2; ++run) {
    auto execution = column.session->Execute(plan, Pointers(data_.inputs), kPrefills[run]);
    if (!execution) return tl::unexpected(execution.error());
    AddObservations(*execution, evidence);
    execute_s += execution->host_seconds;
    const Stopwatch watch;
    raw.push_back(execution->output.Clone());
    data_.op->Canonicalise(data_.problem, data_.inputs, execution->output);
    // Equal bits get equal metrics; most second runs are that.
    const bool same = run == 1 && SameBits(raw[0], raw[1]);
    evidence.runs.push_back(same ? evidence.runs[0]
                                 : Measure(data_.golden, contract.bound, attempt.contract, execution->output));
    if (run == 0) {
      SetHistogram(attempt.record, CountMargins(data_.golden, contract.bound, attempt.contract, execution->output));
    }
    compare_s += watch.Seconds();
  }
  for (size_t variant = 0; variant < contract.twins.size(); ++variant) {
    const Twin& twin = contract.twins[variant];
    auto execution = column.session->Execute(plan, Pointers(twin.inputs), kPrefills[variant % 2]);
    if (!execution) return tl::unexpected(execution.error());
    AddObservations(*execution, evidence);
    execute_s += execution->host_seconds;
    const Stopwatch watch;
    data_.op->Canonicalise(data_.problem, twin.inputs, execution->output);
    evidence.twins.push_back(CheckTwin(twin, static_cast<int>(variant), execution->output));
    compare_s += watch.Seconds();
  }
  const ElementReport unwritten = UnwrittenElements(raw[0], raw[1]);
  evidence.unwritten = unwritten.count;
  evidence.unwritten_where = UnwrittenText(data_.problem.output.name, evidence.shape, unwritten);
  evidence.bits_equal = SameBits(raw[0], raw[1]);
  attempt.record.execute_s = execute_s;
  attempt.record.compare_s = compare_s;
  attempt.record.output_hash = HashHex(HashBytes(raw[0].data(), raw[0].bytes()));
  attempt.output = std::move(raw[0]);
  return evidence;
}

void CaseRunner::Time(const Column& column, Attempt& attempt) {
  const ContractData& contract = contracts_.at(ToText(attempt.contract));
  auto prepared = column.session->Prepare(column.device_index, data_.problem, attempt.implementation);
  if (!prepared) {
    SetFailure(attempt, prepared.error());
    return;
  }
  // The second set differs in its data where there is a twin, so that a kernel cannot get away with an old result.
  const std::vector<InputSet> sets = {Pointers(data_.inputs),
                                      Pointers(contract.twins.empty() ? data_.inputs : contract.twins[0].inputs)};
  TimingRequest request;
  request.warmup = 1;
  request.min_repetitions = 5;
  request.max_seconds = settings_.perf_time_s;
  auto timing = column.session->Time(prepared->plan, sets, request);
  column.session->Release(prepared->plan);
  if (!timing) {
    SetFailure(attempt, timing.error());
    return;
  }
  SetTiming(attempt.record, *timing);
  JudgeTimed(*timing, contract, attempt);
}

void CaseRunner::JudgeTimed(const Timing& timing, const ContractData& contract, Attempt& attempt) const {
  auto fail = [&](const std::string& what) {
    attempt.verdict = Verdict::kMismatch;
    SetVerdict(attempt.record, Verdict::kMismatch, ResultClass::kNone,
               "in the timed loop, after passing outside it: " + what);
  };
  for (size_t set = 0; set < timing.judged.size(); ++set) {
    const Execution& execution = timing.judged[set];
    if (!execution.guard_violations.empty()) return fail(execution.guard_violations[0]);
    if (!execution.changed_inputs.empty())
      return fail(fmt::format("it changed its input {}", execution.changed_inputs[0]));
    Tensor output = execution.output.Clone();
    if (set == 1 && !contract.twins.empty()) {
      data_.op->Canonicalise(data_.problem, contract.twins[0].inputs, output);
      const TwinOutcome outcome = CheckTwin(contract.twins[0], 0, output);
      if (!outcome.Holds()) return fail(outcome.Reason(data_.problem.output.shape));
    } else if (!SameBits(output, attempt.output)) {
      data_.op->Canonicalise(data_.problem, data_.inputs, output);
      const ErrorMetrics metrics = Measure(data_.golden, contract.bound, attempt.contract, output);
      if (!metrics.Holds()) return fail(metrics.where);
      attempt.record.deterministic = false;
      if (attempt.contract.deterministic) {
        attempt.verdict = Verdict::kNondeterministic;
        SetVerdict(attempt.record, Verdict::kNondeterministic, ResultClass::kNone,
                   "the bits changed in the timed loop although the contract says det=yes");
      }
    }
  }
}

}  // namespace assay::cli
