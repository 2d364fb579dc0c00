// SPDX-License-Identifier: Apache-2.0
#include "harness/run/case_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/profile.h"
#include "harness/base/stopwatch.h"
#include "harness/exec/observations.h"
#include "harness/judge/histogram.h"
#include "harness/run/executions.h"
#include "harness/run/record_fields.h"
#include "harness/run/reproduction.h"

namespace assay {
namespace {

// Larger cases are not run once more for their layouts; on a slow implementation of one GFLOP/s it takes 0.2 s. Numbers
// of the case and no times, so that what is checked depends neither on the load nor on what a first execution compiles.
constexpr double kMostPaddedFlops = 2e8, kMostPaddedBytes = 0x1p26;
constexpr Prefill kPrefills[] = {Prefill::kNanPayload, Prefill::kSentinel};

// What a failure folder shows of the runs: those that a channel rejects; else, when bits differ, both; else the first.
// Those of twins are there already.
void KeepRuns(const Evidence& evidence, const std::vector<Tensor>& raw, Attempt& attempt) {
  const auto keep = [&](size_t run) {
    attempt.kept.push_back({fmt::format("run{}", run + 1), KeptOutput::kOwn, raw[run].Clone()});
  };
  const bool both = !evidence.bits_equal;
  for (size_t run = 0; run < raw.size(); ++run) {
    if (!Holds(evidence.runs[run]) && (run == 0 || both)) keep(run);
  }
  if (!attempt.kept.empty()) return;
  keep(0);
  if (both) keep(1);
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

void SetFailure(Attempt& attempt, const WorkerFailure& failure) {
  attempt.verdict = VerdictOf(failure.outcome);
  SetVerdict(attempt.record, attempt.verdict, ResultClass::kNone, failure.message);
}

bool IsFailingResult(Verdict verdict) {
  return verdict == Verdict::kMismatch || verdict == Verdict::kBelowContract || verdict == Verdict::kNondeterministic;
}

CaseRunner::CaseRunner(const PlannedCase& planned, const CaseData& data, const RunnerSettings& settings)
    : planned_(planned), data_(data), settings_(settings) {
  required_text_ = RequirementOf(planned);
  required_ = ParseRequirement(required_text_).value();  // checked when the suite was read
}

Record CaseRunner::NewRecord(const Device& column) const {
  Record record = CaseRecord(planned_, data_, column);
  record.required_contract = required_text_;
  record.plan_hash = settings_.plan_hash;
  if (settings_.sweep) record.sweep = SweepPoint(planned_.spec, *settings_.sweep, data_.op->schema());
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
  return &DataFor(parsed);
}

const ContractData& CaseRunner::DataFor(const Contract& contract) {
  std::unique_lock lock(contracts_mutex_);
  Lazy<ContractData>& prepared = contracts_[ToText(contract)];
  lock.unlock();
  return prepared.Get([&] { return PrepareContract(data_, contract); });
}

void CaseRunner::Judge(const Device& column, const std::function<void(Attempt)>& done, const Offered& offered) {
  auto only = [&](const WorkerFailure& failure) {
    Attempt attempt;
    attempt.record = NewRecord(column);
    SetFailure(attempt, failure);
    attempt.record.reproduce = ReproductionLine(settings_, planned_, column, "");
    done(std::move(attempt));
  };
  if (!column.problem.empty()) return only({column.problem_outcome, column.problem});
  const SpanContext context(planned_.spec.Id(), column.selector, "");
  auto implementations = column.session->Query(column.device_index, data_.problem);
  if (!implementations) return only(implementations.error());

  std::erase_if(*implementations, [&](const ImplementationInfo& implementation) {
    const auto& wanted = settings_.implementations;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), implementation.name) == wanted.end();
  });
  std::vector<std::string> names;
  for (const ImplementationInfo& implementation : *implementations) names.push_back(implementation.name);
  if (offered) offered(names);

  Agreement agreement;
  for (const ImplementationInfo& implementation : *implementations) {
    if (settings_.interrupted()) break;
    const SpanContext here(planned_.spec.Id(), column.selector, implementation.name);
    Attempt attempt = JudgeImplementation(column, implementation);
    NoteAgreement(attempt, agreement);
    done(std::move(attempt));
  }
}

Attempt CaseRunner::JudgeAgain(const Device& column, const std::string& implementation) {
  const SpanContext context(planned_.spec.Id(), column.selector, implementation);
  Attempt attempt;
  attempt.record = NewRecord(column);
  const auto offered = column.session->Query(column.device_index, data_.problem);
  if (!offered) {
    SetFailure(attempt, offered.error());
    return attempt;
  }
  const auto found = std::ranges::find(*offered, implementation, &ImplementationInfo::name);
  if (found != offered->end()) return JudgeImplementation(column, *found);
  attempt.verdict = implementation.empty() ? Verdict::kPass : Verdict::kUnsupported;
  SetVerdict(attempt.record, attempt.verdict, ResultClass::kNone,
             implementation.empty() ? fmt::format("it offers {} implementations", offered->size())
                                    : "it is not offered any more");
  return attempt;
}

Attempt CaseRunner::JudgeImplementation(const Device& column, const ImplementationInfo& implementation) {
  const Span span(Phase::kJudge);
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
  attempt.prepared_by = column.session->workers_started();
  auto evidence = Execute(column, prepared->plan, **contract, attempt);
  if (evidence) {
    if (auto related = JudgeRelations(column, prepared->plan, **contract, attempt, *evidence); !related) {
      evidence = tl::unexpected(related.error());
    }
  }
  column.session->Release(prepared->plan);
  if (!evidence) {
    SetFailure(attempt, evidence.error());
    return attempt;
  }
  const Decision decision = Decide(*evidence);
  attempt.verdict = decision.verdict;
  attempt.memory_fault = decision.memory_fault;
  SetVerdict(attempt.record, decision.verdict, decision.result_class, decision.reason);
  SetMetrics(attempt.record, *evidence, decision);
  const bool failed = attempt.verdict == Verdict::kMismatch || attempt.verdict == Verdict::kNondeterministic ||
                      evidence->lower_class.has_value();
  const bool cheap = data_.problem.flops <= kMostPaddedFlops && data_.problem.bytes <= kMostPaddedBytes;
  if (!failed && cheap) JudgePadded(column, **contract, attempt);
  return attempt;
}

// Only what holds alone is asked for more.
Call<void> CaseRunner::JudgeRelations(const Device& column, uint64_t plan, const ContractData& contract,
                                      Attempt& attempt, Evidence& evidence) {
  const Verdict verdict = Decide(evidence).verdict;
  if (verdict == Verdict::kMismatch || verdict == Verdict::kNondeterministic || evidence.lower_class) return {};
  const Span span(Phase::kRelations);
  const Stopwatch watch;
  auto run = RunRelations({column, data_, contract.bound, attempt.contract, attempt.implementation, attempt.output,
                           plan, settings_.relations},
                          evidence);
  attempt.record.relations_s = watch.Seconds();
  if (attempt.kept.empty() && IsFailingResult(Decide(evidence).verdict)) {
    attempt.kept.push_back({"run1", KeptOutput::kOwn, attempt.output.Clone()});
  }
  return run;
}

void CaseRunner::NoteAgreement(Attempt& attempt, Agreement& agreement) const {
  if (attempt.verdict != Verdict::kPass || settings_.relations == RelationEffort::kNone) return;
  const Span span(Phase::kRelations);
  const std::string added = agreement.Add(data_, DataOf(attempt)->bound, attempt.implementation, attempt.output);
  std::string& text = attempt.record.properties;
  if (!added.empty()) text += (text.empty() ? "" : ";") + added;
}

void CaseRunner::JudgePadded(const Device& column, const ContractData& contract, Attempt& attempt) {
  const Span span(Phase::kPadded);
  const std::string how = "with padded rows and an unaligned start: ";
  auto problem = ProblemWhenPadded(column, contract, attempt);
  if (!problem) {
    if (problem.error().outcome == Outcome::kUnsupported) return;  // no contract promises every layout
    SetFailure(attempt, {problem.error().outcome, how + problem.error().message});
  } else if (!problem->empty()) {
    attempt.verdict = Verdict::kMismatch;
    SetVerdict(attempt.record, Verdict::kMismatch, ResultClass::kNone, how + *problem);
  }
}

// "" when the result holds there too. Kernels for dense and aligned data alone go wrong here.
Call<std::string> CaseRunner::ProblemWhenPadded(const Device& column, const ContractData& contract, Attempt& attempt) {
  const LayoutVariant layout{.element_offset = 1, .row_padding = 3};
  const auto offered = column.session->Query(column.device_index, data_.problem, layout);
  if (!offered) return tl::unexpected(offered.error());
  const auto same = [&](const ImplementationInfo& info) { return info.name == attempt.implementation; };
  if (std::none_of(offered->begin(), offered->end(), same)) return std::string();
  auto prepared = column.session->Prepare(column.device_index, data_.problem, attempt.implementation, layout);
  if (!prepared) return tl::unexpected(prepared.error());
  const std::shared_ptr<const Twin> twin = contract.twins.empty() ? nullptr : contract.twins.back().Get();
  const std::vector<Tensor>& inputs = twin != nullptr ? twin->inputs : data_.inputs;
  auto execution = column.session->Execute(prepared->plan, PointersTo(inputs), kPrefills[1]);
  column.session->Release(prepared->plan);
  if (!execution) return tl::unexpected(execution.error());
  if (std::string effect = SideEffect(*execution); !effect.empty()) {
    attempt.memory_fault = true;
    return effect;
  }
  data_.op->Canonicalise(data_.problem, inputs, execution->output);
  if (twin == nullptr) {
    return FirstProblem(Measure(data_.golden, contract.bound, attempt.contract, execution->output));
  }
  const TwinOutcome outcome = CheckTwin(*twin, static_cast<int>(contract.twins.size()) - 1, execution->output);
  return outcome.Holds() ? std::string() : outcome.Reason(data_.problem.output.shape);
}

Call<Evidence> CaseRunner::Execute(const Device& column, uint64_t plan, const ContractData& contract,
                                   Attempt& attempt) {
  Evidence evidence;
  evidence.shape = data_.problem.output.shape;
  evidence.declared = attempt.contract;
  evidence.required = required_;
  evidence.power = contract.power;
  double execute_s = 0, compare_s = 0;
  const auto count = [&](const Execution& execution) {
    AddObservations(execution, evidence);
    execute_s += execution.host_seconds;
    attempt.fastest_s =
        attempt.fastest_s == 0 ? execution.host_seconds : std::min(attempt.fastest_s, execution.host_seconds);
  };
  std::vector<Tensor> raw;            // as they came back, for bits and prefills
  std::vector<Tensor> judged, coded;  // canonical: the first run that fails; the twins' or the second set's
  for (size_t run = 0; run < 2; ++run) {
    auto execution = column.session->Execute(plan, PointersTo(data_.inputs), kPrefills[run]);
    if (!execution) return tl::unexpected(execution.error());
    count(*execution);
    const Span span(Phase::kCompare);
    const Stopwatch watch;
    raw.push_back(execution->output.Clone());
    data_.op->Canonicalise(data_.problem, data_.inputs, execution->output);
    // Equal bits get equal metrics; most second runs are that.
    const bool same = run == 1 && SameBits(raw[0], raw[1]);
    evidence.runs.push_back(same ? evidence.runs[0]
                                 : Measure(data_.golden, contract.bound, attempt.contract, execution->output));
    if (!Holds(evidence.runs[run]) && judged.empty()) judged.push_back(execution->output.Clone());
    if (run == 0) {
      SetHistogram(attempt.record, CountMargins(data_.golden, contract.bound, attempt.contract, execution->output));
    }
    compare_s += watch.Seconds();
  }
  const ElementReport unwritten = UnwrittenElements(raw[0], raw[1]);
  evidence.unwritten = unwritten.count;
  evidence.unwritten_where = UnwrittenText(data_.problem.output.name, evidence.shape, unwritten);
  evidence.bits_equal = SameBits(raw[0], raw[1]);
  if (evidence.bits_equal) raw.pop_back();
  for (size_t variant = 0; variant < contract.twins.size(); ++variant) {
    const std::shared_ptr<const Twin> held = contract.twins[variant].Get();
    const Twin& twin = *held;
    auto execution = column.session->Execute(plan, PointersTo(twin.inputs), kPrefills[variant % 2]);
    if (!execution) return tl::unexpected(execution.error());
    count(*execution);
    const Span span(Phase::kCompare);
    const Stopwatch watch;
    std::string hash = variant == 0 ? HashOf(execution->output) : "";
    data_.op->Canonicalise(data_.problem, twin.inputs, execution->output);
    evidence.twins.push_back(CheckTwin(twin, static_cast<int>(variant), execution->output));
    if (variant == 0 && evidence.twins[0].Holds()) attempt.second_hash = std::move(hash);
    if (!evidence.twins.back().Holds() && attempt.kept.empty()) {  // one shows it
      attempt.kept.push_back({fmt::format("twin{}", variant), static_cast<int>(variant), execution->output.Clone()});
    }
    coded.push_back(std::move(execution->output));
    compare_s += watch.Seconds();
  }
  const auto second_s = ExecuteSecondSet(column, plan, contract, evidence, coded, attempt);
  if (!second_s) return tl::unexpected(second_s.error());
  execute_s += *second_s;
  if (!judged.empty() && ValuesFail(evidence)) evidence.lower_class = LowerClassOf(contract, judged[0], coded, attempt);
  if (IsFailingResult(Decide(evidence).verdict)) KeepRuns(evidence, raw, attempt);
  attempt.record.execute_s = execute_s;
  attempt.record.compare_s = compare_s;
  attempt.record.output_hash = HashOf(raw[0]);
  attempt.output = std::move(raw[0]);
  return evidence;
}

// Which weaker arithmetic explains an output that fails, and those on other data: the twins' or the second set.
std::optional<LowerClass> CaseRunner::LowerClassOf(const ContractData& contract, const Tensor& output,
                                                   const std::vector<Tensor>& coded, const Attempt& attempt) {
  std::vector<JudgedOutput> twins;
  for (size_t k = 0; k < coded.size(); ++k) {
    const bool is_twin = k < contract.twins.size();
    twins.push_back({is_twin ? contract.twins[k].Keep().inputs : KnownSecondSet().inputs, &coded[k]});
  }
  const Span span(Phase::kCompare);
  const std::lock_guard lock(ladder_mutex_);
  return FindLowerClass(*data_.op, data_.problem, attempt.contract, data_.golden, {data_.inputs, &output}, twins,
                        &ladder_);
}

const ContractData* CaseRunner::DataOf(const Attempt& attempt) const {
  const std::lock_guard lock(contracts_mutex_);
  const auto it = contracts_.find(ToText(attempt.contract));
  return it == contracts_.end() ? nullptr : it->second.IfMade();
}

const std::vector<Tensor>& CaseRunner::InputsOf(const Attempt& attempt, const KeptOutput& kept) const {
  if (kept.twin >= 0) return DataOf(attempt)->twins[static_cast<size_t>(kept.twin)].Keep().inputs;
  return kept.twin == KeptOutput::kSecondSet ? KnownSecondSet().inputs : data_.inputs;
}

}  // namespace assay
