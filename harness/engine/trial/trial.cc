// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/core/base/profile.h"
#include "harness/core/base/stopwatch.h"
#include "harness/engine/cases/value_extremes.h"
#include "harness/engine/device/executions.h"
#include "harness/exec/observations.h"
#include "harness/judge/judge_output.h"
#include "harness/judge/pooled/gather.h"

namespace assay {
namespace {

// Golden values of a second input set are computed for the correctness phase up to these sizes, which take some tenths
// of a second at most; numbers of the case, no times, so that every machine judges the same cases by them.
constexpr double kMostFlopsOfSecondSet = 1e8, kMostBytesOfSecondSet = 0x1p22;

}  // namespace

Trial::Trial(TrialContext& context, const Device& device, const ContractData& by, Attempt& attempt)
    : context_(context),
      data_(context.data()),
      device_(device),
      by_(by),
      attempt_(attempt),
      found_(attempt.findings.emplace()),
      failed_(context.data().outputs.size()) {
  for (size_t k = 0; k < data_.outputs.size(); ++k) {
    JudgeInputs& observed = found_.outputs.emplace_back().observed;
    observed.shape = data_.problem.outputs[k].shape;
    observed.declared = attempt.contract;
    observed.required = context.required();
    observed.power = by.outputs[k].power;
  }
}

Call<void> Trial::Run(const PreparedPlan& plan, RelationEffort relations) {
  if (auto done = RunOwnInputs(plan); !done) return done;
  if (auto done = RunTwins(plan); !done) return done;
  if (auto done = RunSecondSet(plan); !done) return done;
  if (auto done = RunRandomSet(plan); !done) return done;
  FindWeakerArithmetics();
  found_.Decide();
  if (IsFailingResult(found_.outputs[found_.worst].decision.verdict)) KeepRuns();
  attempt_.output_hash = data_.whole ? whole_hashes_[0] : HashOf(raw_[0]);
  attempt_.outputs = std::move(raw_[0]);
  if (auto done = RunRelations(plan, relations); !done) return done;
  found_.Decide();
  const Decision& decision = found_.outputs[found_.worst].decision;
  attempt_.memory_fault = decision.memory_fault;
  // A reason about memory already names its operand.
  const bool named = decision.memory_fault || decision.reason.empty();
  attempt_.SetVerdict(decision.verdict, decision.result_class,
                      (named ? "" : NamingOutput(data_.problem, found_.worst)) + decision.reason);
  attempt_.SetDecidedBy(decision.decided_by);
  attempt_.holds_as_declared = std::ranges::all_of(
      found_.outputs, [](const OutputFindings& output) { return output.decision.holds_as_declared; });
  return {};
}

Call<Execution> Trial::Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs, Prefill prefill) {
  auto execution = plan.Execute(inputs, prefill);
  if (!execution) return execution;
  AddObservations(*execution, found_);
  const double seconds = execution->host_seconds;
  found_.execute_s += seconds;
  attempt_.fastest_s = attempt_.fastest_s == 0 ? seconds : std::min(attempt_.fastest_s, seconds);
  return execution;
}

Call<void> Trial::RunOwnInputs(const PreparedPlan& plan) {
  std::vector<Prefill> prefills(std::begin(kPrefills), std::end(kPrefills));
  if (by_.twins.empty() && by_.random_bounds.empty() && !HasSecondSet()) prefills.push_back(Prefill::kPositive);
  for (const Prefill prefill : prefills) {
    auto execution = Execute(plan, data_.executed_inputs(), prefill);
    if (!execution) return tl::unexpected(execution.error());
    if (data_.whole) ReduceToSample(execution->outputs);
    JudgeRun(std::move(execution->outputs));
  }
  JudgeBits();
  return {};
}

void Trial::ReduceToSample(std::vector<Tensor>& outputs) {
  const Span span(Phase::kCompare);
  std::vector<Tensor> sample = data_.SampleOf(outputs);
  whole_hashes_.push_back(HashOf(outputs));
  if (whole_hashes_.size() == 1) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      found_.unseen += FindValueExtremes(outputs[k]).nonfinite - FindValueExtremes(sample[k]).nonfinite;
    }
    first_whole_ = std::move(outputs);
  } else if (!first_whole_.empty()) {
    NoteUnwritten(first_whole_, outputs);
    first_whole_.clear();
  }
  outputs = std::move(sample);
}

void Trial::JudgeRun(std::vector<Tensor> outputs) {
  const Span span(Phase::kCompare);
  const Stopwatch watch;
  raw_.push_back(ClonesOf(outputs));
  for (size_t k = 0; k < outputs.size(); ++k) JudgeOutputOf(k, std::move(outputs[k]));
  found_.compare_s += watch.Seconds();
}

void Trial::JudgeOutputOf(size_t number, Tensor output) {
  OutputFindings& found = found_.outputs[number];
  const PreparedOutput& of = data_.outputs[number];
  const BoundModel& bound = by_.outputs[number].bound;
  std::vector<ErrorMetrics>& runs = found.observed.runs;
  // Equal bits get equal metrics; most second runs are that.
  if (!runs.empty() && SameBits(raw_.front()[number], raw_.back()[number])) {
    runs.push_back(runs[0]);
    return;
  }
  if (runs.empty()) {
    JudgeFirstRun(context_, by_, attempt_.contract, number, output, found);
  } else {
    runs.push_back(JudgeOutput({*data_.op, data_.problem, number, data_.inputs, of.golden, bound, attempt_.contract},
                               output, {.of_sample = data_.whole.has_value()}));
  }
  if (!Holds(runs.back()) && !failed_[number]) failed_[number] = std::move(output);
}

void JudgeFirstRun(TrialContext& context, const ContractData& by, const Contract& contract, size_t number,
                   Tensor& output, OutputFindings& found) {
  const PreparedCase& data = context.data();
  const PreparedOutput& of = data.outputs[number];
  const BoundModel& bound = by.outputs[number].bound;
  const ErrorMetrics metrics = JudgeOutput({*data.op, data.problem, number, data.inputs, of.golden, bound, contract},
                                           output, {.of_sample = data.whole.has_value()});
  found.observed.runs.push_back(metrics);
  found.histogram = CountMargins(of.golden, bound, contract, output);
  if (!HasPlainData(data) || !Holds(metrics)) return;
  const ElementJudge judge(of.golden, bound, contract, output.dtype());
  if (StatisticApplies(judge)) found.pooled = GatherPooled(judge, contract, output, context.EffectsOf(number));
}

void Trial::NoteUnwritten(const std::vector<Tensor>& first, const std::vector<Tensor>& second) {
  for (size_t k = 0; k < found_.outputs.size(); ++k) {
    const ElementReport unwritten = FindUnwrittenElements(first[k], second[k]);
    JudgeInputs& observed = found_.outputs[k].observed;
    observed.unwritten = unwritten.count;
    observed.unwritten_where = UnwrittenText(data_.problem.outputs[k].name, first[k].shape(), unwritten);
  }
}

void Trial::JudgeBits() {
  if (!data_.whole) NoteUnwritten(raw_[0], raw_[1]);
  const bool all_equal = std::ranges::all_of(whole_hashes_, [&](const auto& hash) { return hash == whole_hashes_[0]; });
  for (size_t k = 0; k < found_.outputs.size(); ++k) {
    const auto same = [&](const std::vector<Tensor>& outputs) { return SameBits(raw_[0][k], outputs[k]); };
    found_.outputs[k].observed.bits_equal = all_equal && std::ranges::all_of(raw_, same);
  }
  const auto same = [this](const std::vector<Tensor>& outputs) { return SameBits(raw_[0], outputs); };
  if (std::ranges::all_of(raw_, same)) raw_.resize(1);
}

void Trial::FindWeakerArithmetics() {
  for (size_t k = 0; k < found_.outputs.size(); ++k) {
    JudgeInputs& observed = found_.outputs[k].observed;
    if (!ValuesFail(observed)) continue;
    if (failed_[k]) {
      observed.weaker_arithmetic = context_.ExplainOutput(by_, attempt_.contract, k, *failed_[k], others_);
    } else if (observed.random && !Holds(*observed.random)) {
      Tensor own = raw_[0][k].Clone();
      data_.op->Canonicalise(data_.problem, k, data_.inputs, own);
      observed.weaker_arithmetic = context_.ExplainRandomSet(attempt_.contract, k, random_[k], own);
    }
  }
}

Call<void> Trial::RunTwins(const PreparedPlan& plan) {
  for (size_t variant = 0; variant < by_.twins.size(); ++variant) {
    const size_t number = by_.twins[variant].output();
    const std::shared_ptr<const Twin> twin = by_.twins[variant].Get();
    const Prefill prefill = variant % 2 == 0 ? Prefill::kPositive : Prefill::kSentinel;
    auto execution =
        data_.whole ? Execute(plan, data_.InputsAround(twin->inputs), prefill) : Execute(plan, twin->inputs, prefill);
    if (!execution) return tl::unexpected(execution.error());
    const Span span(Phase::kCompare);
    const Stopwatch watch;
    const bool is_of_all = by_.FindSharedTwin() == &by_.twins[variant];
    const std::string hash = is_of_all ? HashOf(execution->outputs) : "";
    if (data_.whole) execution->outputs = data_.SampleOf(execution->outputs);
    const TwinResult result =
        JudgeTwin(*data_.op, data_.problem, number, *twin, static_cast<int>(variant), execution->outputs[number]);
    if (is_of_all && result.Holds()) attempt_.second_hash = hash;
    if (!result.Holds() && attempt_.kept.empty()) {  // one shows it
      attempt_.kept.push_back(
          {fmt::format("twin{}", variant), static_cast<int>(variant), ClonesOf(execution->outputs)});
    }
    found_.outputs[number].observed.twins.push_back(result);
    others_.push_back(std::move(execution->outputs));
    found_.compare_s += watch.Seconds();
  }
  return {};
}

bool Trial::HasSecondSet() const {
  const Problem& problem = data_.problem;
  const bool cheap = problem.flops <= kMostFlopsOfSecondSet && problem.bytes <= kMostBytesOfSecondSet;
  return by_.FindSharedTwin() == nullptr && cheap && context_.SecondSet() != nullptr;
}

Call<void> Trial::RunSecondSet(const PreparedPlan& plan) {
  if (!HasSecondSet()) return {};
  const PreparedCase* const second = context_.SecondSet();
  auto execution = plan.Execute(second->inputs, Prefill::kPositive);
  if (!execution) return tl::unexpected(execution.error());
  AddObservations(*execution, found_);
  found_.execute_s += execution->host_seconds;
  const Span span(Phase::kCompare);
  attempt_.second_set = second->problem.spec.Id();
  const OutputProblem wrong = context_.FindSecondSetProblem(by_, attempt_.contract, ClonesOf(execution->outputs));
  found_.outputs[wrong.output].observed.second_set = wrong.what;
  if (wrong.what.empty()) {
    attempt_.second_hash = HashOf(execution->outputs);
  } else {
    attempt_.kept.push_back({"second", KeptOutputSet::kSecondSet, ClonesOf(execution->outputs)});
  }
  for (size_t k = 0; k < second->outputs.size(); ++k) {
    second->op->Canonicalise(second->problem, k, second->inputs, execution->outputs[k]);
  }
  others_.push_back(std::move(execution->outputs));
  return {};
}

Call<void> Trial::RunRandomSet(const PreparedPlan& plan) {
  if (by_.random_bounds.empty()) return {};
  const PreparedCase& random = context_.RandomSet();
  auto execution = plan.Execute(random.inputs, Prefill::kPositive);
  if (!execution) return tl::unexpected(execution.error());
  AddObservations(*execution, found_);
  found_.execute_s += execution->host_seconds;
  const Span span(Phase::kCompare);
  std::vector<Tensor> outputs = ClonesOf(execution->outputs);
  bool holds = true;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const PreparedOutput& of = random.outputs[k];
    JudgeInputs& observed = found_.outputs[k].observed;
    observed.random_id = random.problem.spec.Id();
    observed.random = JudgeOutput(
        {*random.op, random.problem, k, random.inputs, of.golden, by_.random_bounds[k], attempt_.contract}, outputs[k]);
    holds = holds && Holds(*observed.random);
  }
  if (holds) return {};
  attempt_.kept.push_back({"random", KeptOutputSet::kRandomSet, std::move(execution->outputs)});
  random_ = std::move(outputs);
  return {};
}

// Only what holds alone is asked for more.
Call<void> Trial::RunRelations(const PreparedPlan& plan, RelationEffort effort) {
  for (const OutputFindings& output : found_.outputs) {
    const Verdict verdict = output.decision.verdict;
    if (verdict == Verdict::kMismatch || verdict == Verdict::kNondeterministic || output.observed.weaker_arithmetic) {
      return {};
    }
  }
  const Span span(Phase::kRelations);
  const Stopwatch watch;
  auto run = assay::RunRelations({device_, context_, by_, attempt_, plan, effort}, found_);
  found_.relations_s = watch.Seconds();
  found_.Decide();
  if (attempt_.kept.empty() && IsFailingResult(found_.outputs[found_.worst].decision.verdict)) {
    attempt_.kept.push_back({"run1", KeptOutputSet::kOwn, ClonesOf(attempt_.outputs)});
  }
  return run;
}

// Keeps outputs for the failure folder: all runs that a channel rejects, else both that differ in bits, else the first.
// Outputs of twins are kept already.
void Trial::KeepRuns() {
  const auto keep = [&](size_t run) {
    attempt_.kept.push_back({fmt::format("run{}", run + 1), KeptOutputSet::kOwn, ClonesOf(raw_[run])});
  };
  for (size_t run = 0; run < raw_.size(); ++run) {
    const bool holds = std::ranges::all_of(
        found_.outputs, [run](const OutputFindings& output) { return Holds(output.observed.runs[run]); });
    if (!holds) keep(run);
  }
  if (!attempt_.kept.empty()) return;
  keep(0);
  const auto other = [this](const std::vector<Tensor>& outputs) { return !SameBits(raw_[0], outputs); };
  const auto at = std::ranges::find_if(raw_, other);
  if (at != raw_.end()) keep(static_cast<size_t>(at - raw_.begin()));
}

}  // namespace assay
