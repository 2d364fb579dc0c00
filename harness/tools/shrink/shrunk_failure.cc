// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/shrink/shrunk_failure.h"

#include <algorithm>
#include <utility>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/shrink.h"
#include "ops/empty_operands.h"

namespace assay {
namespace {

constexpr double kFirstSearch = 5, kLaterSearch = 0.3;  // seconds for causes, of the first case and of smaller ones

constexpr int kLeastExecutions = 10;  // by which the rate is measured
constexpr uint64_t kSeeds = 8;        // that are tried of a case

// Whether two changes are one mistake: values of attributes follow the shape (a scale of 1/d), and texts of a formula
// have its extents.
bool IsAlike(const CaseChange& a, const CaseChange& b) {
  if (a.stages || b.stages) return a.stages && b.stages && a.stages->what == b.stages->what;
  if (a.formula || b.formula) {
    return a.formula && b.formula && a.formula->node == b.formula->node && a.formula->rule == b.formula->rule &&
           a.formula->user == b.formula->user;
  }
  if (a.output || b.output) {
    return a.output && b.output && a.output->kind == b.output->kind && a.output->bits == b.output->bits;
  }
  return a.key == b.key && (!a.key.empty() || (a.kind == b.kind && a.input == b.input));
}

enum class Corner : uint8_t { kFirst, kLast };

// The part of that shape in a corner of `from`. nullopt: it has none.
std::optional<Tensor> TakeCorner(const Tensor& from, const Shape& shape, Corner corner) {
  if (shape.size() != from.shape().size()) return std::nullopt;
  const Shape strides = RowMajorStrides(from.shape());
  int64_t first = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t left_out = from.shape()[axis] - shape[axis];
    if (left_out < 0) return std::nullopt;
    if (corner == Corner::kLast) first += left_out * strides[axis];
  }
  // It is only read from.
  auto* data = const_cast<std::byte*>(from.data()) + first * SizeOf(from.dtype());
  Tensor taken(from.dtype(), shape);
  Gather({from.dtype(), shape, strides, data}, taken);
  return taken;
}

std::optional<std::vector<Tensor>> TakeCorners(const std::vector<Tensor>& from, const Problem& problem, Corner corner) {
  std::vector<Tensor> taken;
  for (size_t k = 0; k < problem.inputs.size() && k < from.size(); ++k) {
    if (from[k].dtype() != problem.inputs[k].dtype) return std::nullopt;
    auto part = TakeCorner(from[k], problem.inputs[k].shape, corner);
    if (!part) return std::nullopt;
    taken.push_back(*std::move(part));
  }
  if (taken.size() != problem.inputs.size()) return std::nullopt;
  return taken;
}

// Integers have no element that is worst.
bool HasElement(const WrongNumbers& wrong) {
  return wrong.IsNonFinite() ? wrong.metrics.nonfinite_example.has_value() : !wrong.metrics.worst.empty();
}

class FailureShrinker {
 public:
  FailureShrinker(NumbersProbe& probe, const ShrinkSettings& settings) : probe_(probe), settings_(settings) {}

  std::optional<ShrunkFailure> Run(const PreparedCase& first, const CaseSpec& spec) {
    for (const Tensor& input : first.inputs) best_.inputs.push_back(input.Clone());
    auto wrong = probe_.Execute(*first.op, first.problem, best_.inputs);
    if (!wrong || !HasElement(*wrong)) return std::nullopt;
    nonfinite_ = wrong->IsNonFinite();
    SearchWork work(kFirstSearch);
    causes_ = FindCauses(wrong->AsResult(*first.op, first.problem, best_.inputs), work);
    best_.spec = spec;
    const CaseSpec smallest = ShrinkCase(
        spec, first.op->schema(), settings_.most_cases,
        [](const CaseSpec& smaller) { return BindCase(smaller).has_value(); },
        [&](const CaseSpec& smaller) { return FailsAlike(smaller); });
    best_.spec = smallest;
    best_.spec.seed = seed_.value_or(smallest.seed);
    best_.bound = BindCase(best_.spec).value();
    best_.inputs = ShrinkData(std::move(best_.inputs));
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

  // Tries the data of other seeds and parts of the data so far, too, where that of the case does not fail: few rows
  // seldom have the number that it takes.
  bool FailsAlike(const CaseSpec& spec) {
    ++best_.tried_cases;
    return settings_.keeps_data ? FailsInPart(spec) || FailsBySeed(spec) : FailsBySeed(spec) || FailsInPart(spec);
  }

  bool FailsBySeed(const CaseSpec& spec) {
    CaseSpec other = spec;
    for (uint64_t seed = 0; seed < kSeeds && !IsOver(); ++seed) {
      other.seed = seed == 0 ? spec.seed : seed;
      const SharedCase bound = BindCase(other).value();
      auto data = PrepareInputs(*bound);
      if (!data || !FailsWith(*bound, data->inputs)) continue;
      seed_ = other.seed, best_.inputs = std::move(data->inputs);
      return true;
    }
    return false;
  }

  bool FailsInPart(const CaseSpec& spec) {
    const SharedCase bound = BindCase(spec).value();
    const auto fits = [](const Tensor& input, const Operand& operand) { return input.shape() == operand.shape; };
    const bool is_whole = std::ranges::equal(best_.inputs, bound->problem.inputs, fits);
    for (const Corner corner : {Corner::kFirst, Corner::kLast}) {
      if (is_whole && corner == Corner::kLast) break;  // it is the same data
      auto data = IsOver() ? std::nullopt : TakeCorners(best_.inputs, bound->problem, corner);
      if (!data || !bound->op->CheckInputs(bound->problem, *data) || !FailsWith(*bound, *data)) continue;
      best_.inputs = *std::move(data);
      return true;
    }
    return false;
  }

  // Fails by the same channel, and by one of the causes.
  bool FailsWith(const BoundCase& bound, const std::vector<Tensor>& data) {
    const auto wrong = probe_.Execute(*bound.op, bound.problem, data);
    if (!wrong || !HasElement(*wrong) || wrong->IsNonFinite() != nonfinite_) return false;
    return HasSameCause(bound, data, *wrong);
  }

  bool HasSameCause(const BoundCase& bound, const std::vector<Tensor>& inputs, const WrongNumbers& wrong) const {
    return causes_.empty() || !KeptCauses(bound.problem, inputs, wrong).empty() ||
           !FindAlike(bound.problem, inputs, wrong).empty();
  }

  // Causes that are those of the first case in another shape.
  std::vector<Cause> FindAlike(const Problem& problem, const std::vector<Tensor>& inputs,
                               const WrongNumbers& wrong) const {
    const Operator& op = OperatorFor(*OperatorRegistry::Global().Find(problem.spec.op), problem);
    SearchWork work(kLaterSearch);
    std::vector<Cause> found = FindCauses(wrong.AsResult(op, problem, inputs), work);
    std::erase_if(found, [&](const Cause& cause) {
      return std::ranges::none_of(causes_, [&](const Cause& first) { return IsAlike(first.change, cause.change); });
    });
    return found;
  }

  // The causes of the first case that explain this one too.
  std::vector<Cause> KeptCauses(const Problem& problem, const std::vector<Tensor>& inputs,
                                const WrongNumbers& wrong) const {
    std::vector<Cause> kept;
    const Operator& op = OperatorFor(*OperatorRegistry::Global().Find(problem.spec.op), problem);
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
  std::optional<uint64_t> seed_;  // whose data fail, or from which parts of them are
  ShrunkFailure best_;
};

}  // namespace

std::optional<ShrunkFailure> ShrinkFailure(const PreparedCase& data, const CaseSpec& spec, NumbersProbe& probe,
                                           const ShrinkSettings& settings) {
  return FailureShrinker(probe, settings).Run(data, spec);
}

}  // namespace assay
