// SPDX-License-Identifier: Apache-2.0
#include "harness/run/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/profile.h"
#include "harness/base/stopwatch.h"
#include "harness/exec/observations.h"
#include "harness/judge/judge_output.h"
#include "harness/run/executions.h"

namespace assay {
namespace {

// Golden values of a second input set are computed for the correctness phase up to these sizes, which take some tenths
// of a second at most; numbers of the case, no times, so that every machine judges the same cases by them.
constexpr double kMostFlopsOfSecondSet = 1e8, kMostBytesOfSecondSet = 0x1p22;

}  // namespace

Trial::Trial(CaseContext& context, const Device& device, const ContractData& by, Attempt& attempt)
    : context_(context),
      data_(context.data()),
      device_(device),
      by_(by),
      attempt_(attempt),
      found_(attempt.findings.emplace()) {
  found_.evidence.shape = data_.problem.output().shape;
  found_.evidence.declared = attempt.contract;
  found_.evidence.required = context.required();
  found_.evidence.power = by.power;
}

Call<void> Trial::Run(const PreparedPlan& plan, RelationEffort relations) {
  if (auto done = RunOwnInputs(plan); !done) return done;
  if (auto done = RunTwins(plan); !done) return done;
  if (auto done = RunSecondSet(plan); !done) return done;
  if (!failed_.empty() && ValuesFail(found_.evidence)) {
    found_.evidence.lower_class = context_.LowerClassOf(by_, attempt_.contract, failed_[0], others_);
  }
  if (IsFailingResult(Decide(found_.evidence).verdict)) KeepRuns();
  attempt_.output_hash = HashOf(raw_[0]);
  attempt_.output = std::move(raw_[0]);
  if (auto done = RunRelations(plan, relations); !done) return done;
  found_.decision = Decide(found_.evidence);
  attempt_.memory_fault = found_.decision.memory_fault;
  attempt_.SetVerdict(found_.decision.verdict, found_.decision.result_class, found_.decision.reason);
  return {};
}

Call<Execution> Trial::Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs, Prefill prefill) {
  auto execution = plan.Execute(inputs, prefill);
  if (!execution) return execution;
  AddObservations(*execution, found_.evidence);
  const double seconds = execution->host_seconds;
  found_.execute_s += seconds;
  attempt_.fastest_s = attempt_.fastest_s == 0 ? seconds : std::min(attempt_.fastest_s, seconds);
  return execution;
}

Call<void> Trial::RunOwnInputs(const PreparedPlan& plan) {
  for (const Prefill prefill : kPrefills) {
    auto execution = Execute(plan, data_.inputs, prefill);
    if (!execution) return tl::unexpected(execution.error());
    JudgeRun(std::move(execution->outputs[0]));
  }
  JudgeBits();
  return {};
}

void Trial::JudgeRun(Tensor output) {
  const Span span(Phase::kCompare);
  const Stopwatch watch;
  raw_.push_back(output.Clone());
  auto& runs = found_.evidence.runs;
  // Equal bits get equal metrics; most second runs are that.
  if (runs.size() == 1 && SameBits(raw_[0], raw_[1])) {
    runs.push_back(runs[0]);
  } else {
    const JudgedBy by{*data_.op, data_.problem, data_.inputs, data_.golden, by_.bound, attempt_.contract};
    runs.push_back(JudgeOutput(by, output));
    if (runs.size() == 1) found_.histogram = CountMargins(data_.golden, by_.bound, attempt_.contract, output);
    if (!Holds(runs.back()) && failed_.empty()) failed_.push_back(std::move(output));
  }
  found_.compare_s += watch.Seconds();
}

void Trial::JudgeBits() {
  const ElementReport unwritten = UnwrittenElements(raw_[0], raw_[1]);
  Evidence& evidence = found_.evidence;
  evidence.unwritten = unwritten.count;
  evidence.unwritten_where = UnwrittenText(data_.problem.output().name, evidence.shape, unwritten);
  evidence.bits_equal = SameBits(raw_[0], raw_[1]);
  if (evidence.bits_equal) raw_.pop_back();
}

Call<void> Trial::RunTwins(const PreparedPlan& plan) {
  for (size_t variant = 0; variant < by_.twins.size(); ++variant) {
    const std::shared_ptr<const Twin> twin = by_.twins[variant].Get();
    auto execution = Execute(plan, twin->inputs, kPrefills[variant % std::size(kPrefills)]);
    if (!execution) return tl::unexpected(execution.error());
    const Span span(Phase::kCompare);
    const Stopwatch watch;
    const std::string hash = variant == 0 ? HashOf(execution->outputs[0]) : "";
    const int number = static_cast<int>(variant);
    const TwinOutcome outcome = JudgeTwin(*data_.op, data_.problem, *twin, number, execution->outputs[0]);
    if (variant == 0 && outcome.Holds()) attempt_.second_hash = hash;
    if (!outcome.Holds() && attempt_.kept.empty()) {  // one shows it
      attempt_.kept.push_back({fmt::format("twin{}", variant), number, execution->outputs[0].Clone()});
    }
    found_.evidence.twins.push_back(outcome);
    others_.push_back(std::move(execution->outputs[0]));
    found_.compare_s += watch.Seconds();
  }
  return {};
}

Call<void> Trial::RunSecondSet(const PreparedPlan& plan) {
  const Problem& problem = data_.problem;
  const bool cheap = problem.flops <= kMostFlopsOfSecondSet && problem.bytes <= kMostBytesOfSecondSet;
  if (!by_.twins.empty() || !cheap) return {};
  const CaseData* second = context_.SecondSet();
  if (second == nullptr) return {};
  auto execution = plan.Execute(second->inputs, Prefill::kNanPayload);
  if (!execution) return tl::unexpected(execution.error());
  AddObservations(*execution, found_.evidence);
  found_.execute_s += execution->host_seconds;
  const Span span(Phase::kCompare);
  attempt_.second_set = second->problem.spec.Id();
  std::string& what = found_.evidence.second_set;
  what = context_.ProblemOfSecondSet(by_, attempt_.contract, execution->outputs[0].Clone());
  if (what.empty()) {
    attempt_.second_hash = HashOf(execution->outputs[0]);
  } else {
    attempt_.kept.push_back({"second", KeptOutput::kSecondSet, execution->outputs[0].Clone()});
  }
  second->op->Canonicalise(second->problem, second->inputs, execution->outputs[0]);
  others_.push_back(std::move(execution->outputs[0]));
  return {};
}

// Only what holds alone is asked for more.
Call<void> Trial::RunRelations(const PreparedPlan& plan, RelationEffort effort) {
  const Verdict verdict = Decide(found_.evidence).verdict;
  if (verdict == Verdict::kMismatch || verdict == Verdict::kNondeterministic || found_.evidence.lower_class) return {};
  const Span span(Phase::kRelations);
  const Stopwatch watch;
  auto run = assay::RunRelations({device_, context_, by_.bound, attempt_, plan, effort}, found_.evidence);
  found_.relations_s = watch.Seconds();
  if (attempt_.kept.empty() && IsFailingResult(Decide(found_.evidence).verdict)) {
    attempt_.kept.push_back({"run1", KeptOutput::kOwn, attempt_.output.Clone()});
  }
  return run;
}

// What a failure folder shows of the runs: those that a channel rejects; else, when bits differ, both; else the first.
// Those of twins are there already.
void Trial::KeepRuns() {
  const auto keep = [&](size_t run) {
    attempt_.kept.push_back({fmt::format("run{}", run + 1), KeptOutput::kOwn, raw_[run].Clone()});
  };
  const bool both = !found_.evidence.bits_equal;
  for (size_t run = 0; run < raw_.size(); ++run) {
    if (!Holds(found_.evidence.runs[run]) && (run == 0 || both)) keep(run);
  }
  if (!attempt_.kept.empty()) return;
  keep(0);
  if (both) keep(1);
}

}  // namespace assay
