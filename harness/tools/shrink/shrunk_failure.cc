// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/shrink/shrunk_failure.h"

#include <algorithm>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/shrink.h"
#include "harness/tools/shrink/simpler_data.h"

namespace assay {
namespace {

constexpr double kFirstSearch = 5, kLaterSearch = 0.3;  // seconds for causes, of the first case and of smaller ones

constexpr int kLeastExecutions = 10;  // by which the rate is measured

// Whether two changes are one mistake: values of attributes follow the shape (a scale of 1/d), and texts of a formula
// have its extents.
bool IsAlike(const CaseChange& a, const CaseChange& b) {
  if (a.formula || b.formula) {
    return a.formula && b.formula && a.formula->node == b.formula->node && a.formula->rule == b.formula->rule &&
           a.formula->user == b.formula->user;
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

  // Fails by the same channel, and by one of the causes.
  bool FailsAlike(const CaseSpec& spec) {
    if (IsOver()) return false;
    ++best_.tried_cases;
    const SharedCase bound = BindCase(spec).value();
    const auto data = PrepareInputs(*bound);
    if (!data) return false;
    const auto wrong = probe_.Execute(*bound->op, bound->problem, data->inputs);
    if (!wrong || !HasElement(*wrong) || wrong->IsNonFinite() != nonfinite_) return false;
    return HasSameCause(*bound, data->inputs, *wrong);
  }

  bool HasSameCause(const BoundCase& bound, const std::vector<Tensor>& inputs, const WrongNumbers& wrong) const {
    if (causes_.empty() || !KeptCauses(bound.problem, inputs, wrong).empty()) return true;
    const std::vector<Cause> found = FindCauses(wrong.AsResult(*bound.op, bound.problem, inputs), kLaterSearch);
    return std::ranges::any_of(found, [&](const Cause& cause) {
      return std::ranges::any_of(causes_, [&](const Cause& first) { return IsAlike(first.change, cause.change); });
    });
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
    // A cause that the shape has changed is looked for anew, as simple data seldom tell it from others.
    if (const auto wrong = probe_.Execute(op, problem, inputs); wrong && KeptCauses(problem, inputs, *wrong).empty()) {
      std::vector<Cause> found = FindCauses(wrong->AsResult(op, problem, inputs), kLaterSearch);
      if (!found.empty()) causes_ = std::move(found);
    }
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
  ShrunkFailure best_;
};

}  // namespace

std::optional<ShrunkFailure> ShrinkFailure(const CaseSpec& spec, NumbersProbe& probe, const ShrinkSettings& settings) {
  return FailureShrinker(probe, settings).Run(spec);
}

}  // namespace assay
