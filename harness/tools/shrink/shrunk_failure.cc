// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/shrink/shrunk_failure.h"

#include <algorithm>
#include <map>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/shrink.h"
#include "harness/tools/shrink/simpler_data.h"

namespace assay {
namespace {

constexpr double kFirstSearch = 5, kLaterSearch = 0.3;  // seconds for causes, of the first case and of smaller ones

constexpr int kLeastExecutions = 10;  // by which the rate is measured
constexpr uint64_t kSeeds = 8;        // that are tried of a case

// Whether two changes are one mistake: values of attributes follow the shape (a scale of 1/d), and texts of a formula
// have its extents.
bool IsAlike(const CaseChange& a, const CaseChange& b) {
  if (a.formula || b.formula) {
    return a.formula && b.formula && a.formula->node == b.formula->node && a.formula->rule == b.formula->rule &&
           a.formula->user == b.formula->user;
  }
  if (a.output || b.output) {
    return a.output && b.output && a.output->kind == b.output->kind && a.output->bits == b.output->bits;
  }
  return a.key == b.key && (!a.key.empty() || (a.kind == b.kind && a.input == b.input));
}

// Integers have no element that is worst.
bool HasElement(const WrongNumbers& wrong) {
  return wrong.IsNonFinite() ? wrong.metrics.nonfinite_example.has_value() : !wrong.metrics.worst.empty();
}

class FailureShrinker {
 public:
  FailureShrinker(NumbersProbe& probe, const ShrinkSettings& settings) : probe_(probe), settings_(settings) {}

  std::optional<ShrunkFailure> Run(const CaseSpec& spec) {
    auto bound = BindCase(spec);
    if (!bound) return std::nullopt;
    auto data = PrepareInputs(**bound);
    if (!data) return std::nullopt;
    auto wrong = probe_.Execute(*(*bound)->op, (*bound)->problem, data->inputs);
    if (!wrong || !HasElement(*wrong)) return std::nullopt;
    nonfinite_ = wrong->IsNonFinite();
    causes_ = FindCauses(wrong->AsResult(*(*bound)->op, (*bound)->problem, data->inputs), kFirstSearch);
    best_.spec = ShrinkCase(
        spec, (*bound)->op->schema(), settings_.most_cases,
        [](const CaseSpec& smaller) { return BindCase(smaller).has_value(); },
        [&](const CaseSpec& smaller) { return FailsAlike(smaller); });
    if (const auto seed = seeds_.find(best_.spec.Id()); seed != seeds_.end()) best_.spec.seed = seed->second;
    best_.bound = BindCase(best_.spec).value();
    data = PrepareInputs(*best_.bound);
    if (!data) return std::nullopt;
    best_.inputs = ShrinkData(std::move(data->inputs));
    probe_.RepeatAtLeast(kLeastExecutions);
    wrong = probe_.Execute(*best_.bound->op, best_.bound->problem, best_.inputs, Executions::kAll);
    if (!wrong) return std::nullopt;  // by chance, of a failure that seldom comes
    best_.wrong = *std::move(wrong);
    best_.causes = KeptCauses(best_.bound->problem, best_.inputs, best_.wrong);
    best_.seconds = time_.Seconds();
    return std::move(best_);
  }

 private:
  bool IsOver() const { return time_.Seconds() > settings_.seconds || settings_.interrupted(); }

  // Tries other data, too, where that of the case does not fail: few rows seldom have the number that it takes.
  bool FailsAlike(const CaseSpec& spec) {
    ++best_.tried_cases;
    CaseSpec other = spec;
    for (uint64_t seed = 0; seed < kSeeds && !IsOver(); ++seed) {
      other.seed = seed == 0 ? spec.seed : seed;
      if (!FailsWith(other)) continue;
      seeds_[spec.Id()] = other.seed;
      return true;
    }
    return false;
  }

  // Fails by the same channel, and by one of the causes.
  bool FailsWith(const CaseSpec& spec) {
    const SharedCase bound = BindCase(spec).value();
    const auto data = PrepareInputs(*bound);
    if (!data) return false;
    const auto wrong = probe_.Execute(*bound->op, bound->problem, data->inputs);
    if (!wrong || !HasElement(*wrong) || wrong->IsNonFinite() != nonfinite_) return false;
    return HasSameCause(*bound, data->inputs, *wrong);
  }

  bool HasSameCause(const BoundCase& bound, const std::vector<Tensor>& inputs, const WrongNumbers& wrong) const {
    return causes_.empty() || !KeptCauses(bound.problem, inputs, wrong).empty() ||
           !FindAlike(bound.problem, inputs, wrong).empty();
  }

  // Causes that are those of the first case in another shape.
  std::vector<Cause> FindAlike(const Problem& problem, const std::vector<Tensor>& inputs,
                               const WrongNumbers& wrong) const {
    const Operator& op = *OperatorRegistry::Global().Find(problem.spec.op);
    std::vector<Cause> found = FindCauses(wrong.AsResult(op, problem, inputs), kLaterSearch);
    std::erase_if(found, [&](const Cause& cause) {
      return std::ranges::none_of(causes_, [&](const Cause& first) { return IsAlike(first.change, cause.change); });
    });
    return found;
  }

  // The causes of the first case that explain this one too.
  std::vector<Cause> KeptCauses(const Problem& problem, const std::vector<Tensor>& inputs,
                                const WrongNumbers& wrong) const {
    std::vector<Cause> kept;
    const Operator& op = *OperatorRegistry::Global().Find(problem.spec.op);
    for (const Cause& cause : causes_) {
      if (IsCause(wrong.AsResult(op, problem, inputs), cause.change)) kept.push_back(cause);
    }
    return kept;
  }

  std::vector<Tensor> ShrinkData(std::vector<Tensor> inputs) {
    const Operator& op = *best_.bound->op;
    const Problem& problem = best_.bound->problem;
    // The values of attributes follow the shape. They are looked for now, as simple data seldom tell them from others.
    const auto first = causes_.empty() ? std::nullopt : probe_.Execute(op, problem, inputs);
    if (first && KeptCauses(problem, inputs, *first).empty()) causes_ = FindAlike(problem, inputs, *first);
    const auto fails = [&](const std::vector<Tensor>& data) {
      ++best_.tried_data;
      if (!op.CheckInputs(problem, data)) return false;
      const auto wrong = probe_.Execute(op, problem, data);
      return wrong && HasElement(*wrong) && wrong->IsNonFinite() == nonfinite_ &&
             (causes_.empty() || !KeptCauses(problem, data, *wrong).empty());
    };
    return SimplifyData(std::move(inputs), fails, [&] { return IsOver(); });
  }

  NumbersProbe& probe_;
  const ShrinkSettings& settings_;
  const Stopwatch time_;
  bool nonfinite_ = false;
  std::vector<Cause> causes_;
  std::map<std::string, uint64_t> seeds_;  // by which cases failed, by their ids
  ShrunkFailure best_;
};

}  // namespace

std::optional<ShrunkFailure> ShrinkFailure(const CaseSpec& spec, NumbersProbe& probe, const ShrinkSettings& settings) {
  return FailureShrinker(probe, settings).Run(spec);
}

}  // namespace assay
