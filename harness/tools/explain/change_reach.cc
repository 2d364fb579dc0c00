// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/change_reach.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/tools/explain/forms.h"
#include "harness/tools/explain/narrowed_node.h"
#include "harness/tools/explain/reach.h"
#include "harness/tools/explain/wrong_places.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {

WrongResult TakeAsResultOf(const WrongResult& result, const Operator& op, const Problem& problem,
                           const std::vector<Tensor>& inputs, const std::vector<Tensor>& got) {
  return {op,
          problem,
          inputs,
          got,
          result.contract,
          result.golden,
          result.tier,
          result.output,
          result.elements,
          result.places,
          result.most_flops,
          result.least_bits,
          nullptr,
          result.work,
          result.is_exact,
          result.is_right};
}

Reach ExplainByFormula(const WrongResult& result, const formula::Graph& whole, const formula::GraphChange& change,
                       const NearElements& near, ResultFit& fit) try {
  const std::optional<formula::Graph> changed = formula::ChangeGraph(whole, change);
  if (!changed || !near.MayBeOf(formula::KeepOutput(*changed, result.output))) return Reach::kNothing;
  const auto op = dynamic_cast<const FormulaOperator&>(result.op).WithChange(change);
  return FindReach(TakeAsResultOf(result, *op, result.problem, result.inputs, result.got), result.problem,
                   result.inputs, &result.golden, &fit);
} catch (const formula::FormulaError&) {
  return Reach::kNothing;  // some of its slices have another graph
}

formula::Graph GraphOf(const WrongResult& result) {
  return dynamic_cast<const FormulaOperator&>(result.op).WholeDefinitionOf(result.problem).graph();
}

namespace {

// Whether a transform by stages with a mistake is much nearer to the elements of the first wrong one's batch.
bool IsNearOneBatch(const WrongResult& result, const StageMistake& mistake, std::span<const double> x) {
  const Tensor& got = result.got[result.output];
  const std::vector<double> values = got.ToDoubles();
  const auto size = std::ssize(values) / got.shape()[0], parts = std::ssize(values) / got.size();
  const int64_t batch = result.elements.empty() ? 0 : result.elements[0] * parts / size;
  const std::vector<double> made = TransformBy(mistake, result.problem, x, batch);
  for (const int64_t element : result.elements) {
    for (int64_t i = element * parts; i < (element + 1) * parts; ++i) {
      if (i / size != batch) continue;
      const double value = values[static_cast<size_t>(i)];
      const double error = std::fabs(value - result.golden.value[static_cast<size_t>(i)]);
      // One of the two parts may be right.
      const double tolerance = result.places->judge().Judge(i, value).Tolerance();
      if (!(std::fabs(value - made[static_cast<size_t>(i % size)]) <= std::max(error / 2, tolerance))) return false;
    }
  }
  return true;
}

Reach ExplainByStages(const WrongResult& result, const StageMistake& mistake, ResultFit& fit) {
  const std::vector<double> x = result.inputs[0].ToDoubles();
  if (result.places == nullptr || !IsNearOneBatch(result, mistake, x)) return Reach::kNothing;
  Golden golden = result.golden;
  golden.value.clear();
  golden.value_lo.assign(golden.value_lo.size(), 0);
  for (int64_t batch = 0; batch < result.got[result.output].shape()[0]; ++batch) {
    const std::vector<double> made = TransformBy(mistake, result.problem, x, batch);
    golden.value.insert(golden.value.end(), made.begin(), made.end());
  }
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(golden.value, is_finite)) return Reach::kNothing;
  double bits = 0;
  const Reach reach = FindReachOf(golden, result, result.problem, result.output, result.inputs,
                                  result.got[result.output].Clone(), &result.golden, &fit, bits);
  return reach == Reach::kWrongPlaces && bits < result.least_bits ? Reach::kNothing : reach;
}

// Whether a changed case comes near some wrong elements: most do not, and are not computed as a whole.
bool IsNear(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs) try {
  if (result.places == nullptr || !IsFloat(result.got[result.output].dtype())) return true;
  const auto is_near = [&](const FormulaOperator& op, const Problem& as, const std::vector<Tensor>& given,
                           const std::vector<Tensor>& got) {
    const formula::Definition definition = op.DefinitionOf(as, result.output);
    return NearElements(TakeAsResultOf(result, op, as, given, got), true).MayBeOf(definition.graph());
  };
  if (const auto* const op = dynamic_cast<const FormulaOperator*>(&result.op))
    return is_near(*op, problem, inputs, result.got);
  if (result.is_exact) return true;  // a change may make sums of them that are rounded, for which there is no tolerance
  const auto form = OwnFormOf(problem, inputs, result.got);
  return !form || is_near(*form->op, form->problem, form->inputs, form->got);
} catch (const formula::FormulaError&) {
  return true;  // the case itself says what is wrong with it
}

}  // namespace

Reach Explain(const WrongResult& result, const CaseChange& change, ResultFit& fit) {
  if (change.stages) return ExplainByStages(result, *change.stages, fit);
  if (change.output) return result.places == nullptr ? Reach::kNothing : result.places->Explain(*change.output, fit);
  const std::optional<Problem> problem = ChangeCase(result.op, result.problem, change);
  if (!problem) return Reach::kNothing;
  if (change.key.empty()) SpendOnCopies(result);
  // Any order takes the one that was meant.
  const Golden* const meant = change.key == "tie" ? nullptr : &result.golden;
  const std::vector<Tensor> changed = change.key.empty() ? ChangeInputs(result.inputs, change) : std::vector<Tensor>();
  const std::vector<Tensor>& inputs = change.key.empty() ? changed : result.inputs;
  if (!IsNear(result, *problem, inputs)) return Reach::kNothing;
  return result.op.CheckInputs(*problem, inputs) ? FindReach(result, *problem, inputs, meant, &fit) : Reach::kNothing;
}

std::optional<CaseOfMistake> MakeMistake(const WrongResult& result, const CaseChange& change) {
  std::optional<Problem> problem = ChangeCase(result.op, result.problem, change);
  if (!problem || problem->inputs.size() != result.inputs.size()) return std::nullopt;
  std::vector<Tensor> inputs;
  if (change.key.empty()) {
    inputs = ChangeInputs(result.inputs, change);
  } else {
    for (const Tensor& input : result.inputs) inputs.push_back(input.Clone());
  }
  if (!result.op.CheckInputs(*problem, inputs)) return std::nullopt;
  return CaseOfMistake{*std::move(problem), std::move(inputs)};
}

namespace {
Reach ReachOfTwoPlaces(const WrongResult& result, const CaseChange& change);
}  // namespace

Reach ReachOf(const WrongResult& result, const CaseChange& change) {
  ResultFit fit;
  if (change.first != nullptr && change.first->formula) return ReachOfTwoPlaces(result, change);
  if (change.first != nullptr) {
    const std::optional<CaseOfMistake> made = MakeMistake(result, *change.first);
    CaseChange second = change;
    second.first = nullptr;
    return made ? ReachOf(TakeAsResultOf(result, result.op, made->problem, made->inputs, result.got), second)
                : Reach::kNothing;
  }
  if (!change.formula) return Explain(result, change, fit);
  const bool is_formula = dynamic_cast<const FormulaOperator*>(&result.op) != nullptr;
  for (const Form& form : FormsOf(result.problem, result.inputs, result.got)) {
    const WrongResult as = TakeAsResultOf(result, *form.op, form.problem, form.inputs, form.got);
    if (form.text == change.formula->text) return FindReach(as, form.problem, form.inputs, &result.golden, &fit);
    if (!is_formula && form.text.empty())
      return ExplainByFormula(as, GraphOf(as), *change.formula, NearElements(as), fit);
  }
  return is_formula ? ExplainByFormula(result, GraphOf(result), *change.formula, NearElements(result), fit)
                    : Reach::kNothing;
}

namespace {

Reach ReachOfTwoPlaces(const WrongResult& result, const CaseChange& change) {
  const auto of = [&](const WrongResult& as) {
    const auto op = dynamic_cast<const FormulaOperator&>(as.op).WithChange(*change.first->formula);
    const WrongResult made = TakeAsResultOf(as, *op, as.problem, as.inputs, as.got);
    ResultFit fit;
    return ExplainByFormula(made, GraphOf(made), *change.formula, NearElements(made), fit);
  };
  if (dynamic_cast<const FormulaOperator*>(&result.op) != nullptr) return of(result);
  const auto form = OwnFormOf(result.problem, result.inputs, result.got);
  return form ? of(TakeAsResultOf(result, *form->op, form->problem, form->inputs, form->got)) : Reach::kNothing;
}

// Whether a narrowing that was found for one result of the kernel makes another one, too.
bool IsMadeByNarrowing(const WrongResult& other, const formula::Narrowing& narrowing) {
  const auto is_made = [&](const WrongResult& as) {
    const formula::Definition definition =
        dynamic_cast<const FormulaOperator&>(as.op).DefinitionOf(as.problem, as.output);
    return MakesResult({definition.graph(), ReadElements(as.inputs)}, as, narrowing);
  };
  if (dynamic_cast<const FormulaOperator*>(&other.op) != nullptr) return is_made(other);
  const auto form = OwnFormOf(other.problem, other.inputs, other.got);
  return !form || is_made(TakeAsResultOf(other, *form->op, form->problem, form->inputs, form->got));
}

}  // namespace

Reach ReachBeside(const WrongResult& beside, const CaseChange& change, Reach reach) {
  const bool is_one_place = reach == Reach::kWrongPlaces && beside.is_right;  // which may be right on a twin
  if (change.narrowing) return is_one_place || IsMadeByNarrowing(beside, *change.narrowing) ? reach : Reach::kNothing;
  const bool is_few_bits =
      change.kind == OperandChange::kInt8 || change.kind == OperandChange::kE4M3 || change.kind == OperandChange::kE5M2;
  const bool is_rounding = is_few_bits || (change.output && change.output->kind == OutputChange::Kind::kRounded);
  const bool is_silent = beside.is_right || (reach == Reach::kWrongPlaces && !beside.places->HasWrong());
  const bool leaves_exact = is_rounding && beside.is_exact && !(is_few_bits && beside.places->HasWrong());
  return leaves_exact || is_silent ? reach : std::min(reach, ReachOf(beside, change));
}

}  // namespace assay
