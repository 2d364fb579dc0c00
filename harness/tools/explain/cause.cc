// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/cause.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "harness/core/data/infinity.h"
#include "harness/judge/judge.h"
#include "harness/tools/explain/fitted_constant.h"
#include "harness/tools/explain/forms.h"
#include "harness/tools/explain/narrowed_node.h"
#include "harness/tools/explain/near_elements.h"
#include "harness/tools/explain/reach.h"
#include "harness/tools/explain/stored_changes.h"
#include "harness/tools/explain/wrong_places.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

constexpr double kSecondsOfNarrowing = 2;

// Whether all is one constant, as in memory that nobody has written.
bool IsConstant(const Tensor& tensor) {
  const std::vector<double> values = tensor.ToDoubles();
  return values.size() > 1 && std::ranges::all_of(values, [&](double x) { return x == values[0]; });
}

bool AreBits(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double x) { return x == 0 || x == 1; });
}

// Whether it holds conditions, as masks of i8 do.
bool IsOfBits(const Tensor& tensor) {
  return tensor.dtype() == DType::kBool || (IsInt(tensor.dtype()) && AreBits(tensor.ToDoubles()));
}

// Whether an output is the mask of another one, whose elements are then one of two numbers each.
bool HasMask(const WrongResult& result) {
  return result.got.size() > 1 &&
         std::ranges::any_of(result.got, [](const Tensor& got) { return got.dtype() == DType::kBool; });
}

Reach ReachBeside(const WrongResult& beside, const CaseChange& change, Reach reach);

// Causes of the whole result, or else of its wrong places: none of wrong bits, which are the other one by any change.
class FoundCauses {
 public:
  explicit FoundCauses(const WrongResult& result)
      : result_(result),
        is_of_bits_((IsOfBits(result.got[result.output]) && AreBits(result.golden.value)) || HasMask(result)) {}

  void Add(CaseChange change, Reach reach, const ResultFit& fit) {
    if (reach == Reach::kWrongPlaces && is_of_bits_) reach = Reach::kNothing;
    for (const WrongResult* beside = result_.beside; beside != nullptr && reach != Reach::kNothing;
         beside = beside->beside) {
      reach = ReachBeside(*beside, change, reach);
    }
    if (reach == Reach::kNothing) return;
    std::vector<Cause>& causes = reach == Reach::kAll ? all_ : of_places_;
    const auto is_said = [&](const Cause& cause) {  // a constant that is left out, and one that is rounded to 0
      return change.formula && cause.change.formula && cause.change.formula->text == change.formula->text;
    };
    if (std::ranges::any_of(causes, is_said)) return;
    if (causes.size() < kMostCauses) causes.push_back({std::move(change), fit, reach == Reach::kWrongPlaces});
  }
  bool AreOfBits() const { return is_of_bits_; }
  bool IsFull() const { return all_.size() == kMostCauses; }
  bool Explains() const { return !all_.empty(); }
  bool IsEmpty() const { return all_.empty() && of_places_.empty(); }
  bool Knows(const CaseChange& change) const {
    const auto is_it = [&](const Cause& cause) { return !change.key.empty() && cause.change.key == change.key; };
    return std::ranges::any_of(all_, is_it) || std::ranges::any_of(of_places_, is_it);
  }
  // Roundings are less exact than other causes: where one of these leaves a smaller error, they fit by chance.
  std::vector<Cause> Take() {
    std::vector<Cause>& causes = all_.empty() ? of_places_ : all_;
    double least = kInfinity;
    for (const Cause& cause : causes) least = std::min(least, cause.fit.rms);
    std::erase_if(causes,
                  [&](const Cause& cause) { return cause.change.narrowing && cause.fit.rms > kNearlyEqual * least; });
    return std::move(causes);
  }

 private:
  const WrongResult& result_;
  bool is_of_bits_;
  std::vector<Cause> all_, of_places_;
};

// Takes the result for one of another operator.
WrongResult As(const WrongResult& result, const Operator& op, const Problem& problem, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& got) {
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

// `whole`: the graph of the operator's formula, which the change is made to.
Reach ExplainByFormula(const WrongResult& result, const formula::Graph& whole, const formula::GraphChange& change,
                       const NearElements& near, ResultFit& fit) try {
  const std::optional<formula::Graph> changed = formula::ChangeGraph(whole, change);
  if (!changed || !near.MayBeOf(formula::KeepOutput(*changed, result.output))) return Reach::kNothing;
  const auto op = dynamic_cast<const FormulaOperator&>(result.op).WithChange(change);
  return FindReach(As(result, *op, result.problem, result.inputs, result.got), result.problem, result.inputs,
                   &result.golden, &fit);
} catch (const formula::FormulaError&) {
  return Reach::kNothing;  // some of its slices have another graph
}

formula::Graph GraphOf(const WrongResult& result) {
  return dynamic_cast<const FormulaOperator&>(result.op).WholeDefinitionOf(result.problem).graph();
}

Reach Explain(const WrongResult& result, const CaseChange& change, ResultFit& fit);

// Adds causes in the formula, as people read it.
class FormulaCauses {
 public:
  // Where wrong values say little, only roundings are tried, which all values bear witness to.
  FormulaCauses(const WrongResult& result, bool say_little, FoundCauses& causes)
      : result_(result), say_little_(say_little), causes_(causes) {}

  void Find() {
    for (const Form& form : FormsOf(result_.problem, result_.inputs, result_.got)) {
      if (IsOver()) return;
      const WrongResult as = As(result_, *form.op, form.problem, form.inputs, form.got);
      if (form.text.empty()) {
        TryChangesOf(as);
        continue;
      }
      const formula::Definition definition = form.op->DefinitionOf(form.problem, result_.output);
      if (say_little_ || !NearElements(as).MayBeOf(definition.graph())) continue;
      ResultFit fit;
      const Reach reach = FindReach(as, form.problem, form.inputs, &result_.golden, &fit);
      causes_.Add({.formula = formula::GraphChange{.text = form.text}}, reach, fit);
    }
    if (!IsOver()) TryChangesOf(result_);  // of an operator that is a formula
  }

 private:
  bool IsOver() const { return causes_.IsFull() || result_.work->IsOver(); }
  void TryChangesOf(const WrongResult& result) {
    TryNarrowings(result);
    const std::vector<CaseChange> changes = ListFormulaChanges(result.op, result.problem);
    if (changes.empty() || say_little_) return;
    const NearElements near(result);
    const formula::Graph whole = GraphOf(result);
    for (const CaseChange& change : changes) {
      if (IsOver()) return;
      ResultFit fit;
      const Reach reach = ExplainByFormula(result, whole, *change.formula, near, fit);
      causes_.Add(change, reach, fit);
    }
    if (causes_.IsEmpty()) TryConstants(result, whole, near);
  }

  // A number fits a few places whatever the mistake: all elements have to hold by it.
  void TryConstants(const WrongResult& result, const formula::Graph& whole, const NearElements& near) {
    for (const CaseChange& change : FitConstants(result, whole, result_.problem)) {
      if (IsOver() || causes_.Explains()) return;
      ResultFit fit;
      const Reach reach =
          change.formula ? ExplainByFormula(result, whole, *change.formula, near, fit) : Explain(result_, change, fit);
      if (reach == Reach::kAll) causes_.Add(change, reach, fit);
    }
  }

  void TryNarrowings(const WrongResult& result) {
    const auto* const op = dynamic_cast<const FormulaOperator*>(&result.op);
    const Tensor& got = result.got[result.output];
    if (op == nullptr || result.places == nullptr || !IsFloat(got.dtype())) return;
    const formula::Definition definition = op->DefinitionOf(result.problem, result.output);
    const FormulaOfResult formula{definition.graph(), ReadElements(result.inputs)};
    for (NarrowedNode& found : FindNarrowedNodes(formula, result)) {
      causes_.Add({.formula = formula::GraphChange{.text = std::move(found.text)}, .narrowing = found.narrowing},
                  found.reach, found.fit);
    }
  }

  const WrongResult& result_;
  bool say_little_;
  FoundCauses& causes_;
};

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
    return NearElements(As(result, op, as, given, got), true).MayBeOf(definition.graph());
  };
  if (const auto* const op = dynamic_cast<const FormulaOperator*>(&result.op))
    return is_near(*op, problem, inputs, result.got);
  if (result.is_exact) return true;  // a change may make sums of them that are rounded, for which there is no tolerance
  const auto form = OwnFormOf(problem, inputs, result.got);
  return !form || is_near(*form->op, form->problem, form->inputs, form->got);
} catch (const formula::FormulaError&) {
  return true;  // the case itself says what is wrong with it
}

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

// The case of a mistake, to which another one may be made.
struct CaseOfMistake {
  Problem problem;
  std::vector<Tensor> inputs;
};
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

// Mistakes of an attribute or an operand beside one of the formula. So many pairs are tried that some come near a few
// places: all elements have to hold by both.
void FindTwoMistakes(const WrongResult& result, FoundCauses& causes) {
  if (result.work->IsOver()) return;
  if (dynamic_cast<const FormulaOperator*>(&result.op) == nullptr || !IsSmall(result.problem)) return;
  const std::vector<CaseChange> usual = ListFormulaChanges(result.op, result.problem);
  for (const CaseChange& first : ListChanges(result.op, result.problem)) {
    const std::optional<CaseOfMistake> made = MakeMistake(result, first);
    if (!made) continue;
    const WrongResult as = As(result, result.op, made->problem, made->inputs, result.got);
    const NearElements near(as);
    const formula::Graph whole = GraphOf(as);
    for (CaseChange second : first.key.empty() ? usual : ListFormulaChanges(result.op, made->problem, first.key)) {
      if (result.work->IsOver() || causes.IsFull()) return;
      ResultFit fit;
      if (ExplainByFormula(as, whole, *second.formula, near, fit) != Reach::kAll) continue;
      second.first = std::make_shared<const CaseChange>(first);
      causes.Add(std::move(second), Reach::kAll, fit);
    }
  }
}

// Two mistakes of the formula: the likelier ones, each beside another one.
void FindTwoPlaces(const WrongResult& result, FoundCauses& causes) {
  constexpr size_t kMostFirst = 64;
  const formula::Graph whole = GraphOf(result);
  const NearElements near(result, true);
  size_t tried = 0;
  const std::vector<formula::GraphChange> usual = formula::ListGraphChanges(whole);
  // Others are of what the first mistake has put there.
  const auto is_of_formula = [&](const formula::GraphChange& second) {
    return second.user == -1 && std::ranges::find(usual, second.text, &formula::GraphChange::text) != usual.end();
  };
  for (const formula::GraphChange& first : usual) {
    if (first.user != -1) continue;
    const auto op = dynamic_cast<const FormulaOperator&>(result.op).WithChange(first);
    if (++tried > kMostFirst) return;
    const WrongResult as = As(result, *op, result.problem, result.inputs, result.got);
    const formula::Graph changed = GraphOf(as);
    const std::vector<formula::GraphChange> further = formula::ListGraphChanges(changed);
    result.work->Spend(EstimateSecondsOfListing(changed, further.size()));
    for (const formula::GraphChange& second : further) {
      if (result.work->IsOver() || causes.IsFull()) return;
      if (!is_of_formula(second)) continue;
      ResultFit fit;
      if (ExplainByFormula(as, changed, second, near, fit) != Reach::kAll) continue;
      causes.Add({.formula = second, .first = std::make_shared<const CaseChange>(CaseChange{.formula = first})},
                 Reach::kAll, fit);
    }
  }
}

// Likewise of an operator that is no formula, but has one.
void FindTwoPlacesOfForm(const WrongResult& result, FoundCauses& causes) {
  if (!IsSmall(result.problem) || result.work->IsOver()) return;
  if (dynamic_cast<const FormulaOperator*>(&result.op) != nullptr) return FindTwoPlaces(result, causes);
  if (const auto form = OwnFormOf(result.problem, result.inputs, result.got))
    FindTwoPlaces(As(result, *form->op, form->problem, form->inputs, form->got), causes);
}

Reach ReachOfTwoPlaces(const WrongResult& result, const CaseChange& change);

// How a change that was found for a result, maybe another one, explains this one. Precondition: it has `places`, and
// the change is no narrowing.
Reach ReachOf(const WrongResult& result, const CaseChange& change) {
  ResultFit fit;
  if (change.first != nullptr && change.first->formula) return ReachOfTwoPlaces(result, change);
  if (change.first != nullptr) {
    const std::optional<CaseOfMistake> made = MakeMistake(result, *change.first);
    CaseChange second = change;
    second.first = nullptr;
    return made ? ReachOf(As(result, result.op, made->problem, made->inputs, result.got), second) : Reach::kNothing;
  }
  if (!change.formula) return Explain(result, change, fit);
  const bool is_formula = dynamic_cast<const FormulaOperator*>(&result.op) != nullptr;
  for (const Form& form : FormsOf(result.problem, result.inputs, result.got)) {
    const WrongResult as = As(result, *form.op, form.problem, form.inputs, form.got);
    if (form.text == change.formula->text) return FindReach(as, form.problem, form.inputs, &result.golden, &fit);
    if (!is_formula && form.text.empty())
      return ExplainByFormula(as, GraphOf(as), *change.formula, NearElements(as), fit);
  }
  return is_formula ? ExplainByFormula(result, GraphOf(result), *change.formula, NearElements(result), fit)
                    : Reach::kNothing;
}

Reach ReachOfTwoPlaces(const WrongResult& result, const CaseChange& change) {
  const auto of = [&](const WrongResult& as) {
    const auto op = dynamic_cast<const FormulaOperator&>(as.op).WithChange(*change.first->formula);
    const WrongResult made = As(as, *op, as.problem, as.inputs, as.got);
    ResultFit fit;
    return ExplainByFormula(made, GraphOf(made), *change.formula, NearElements(made), fit);
  };
  if (dynamic_cast<const FormulaOperator*>(&result.op) != nullptr) return of(result);
  const auto form = OwnFormOf(result.problem, result.inputs, result.got);
  return form ? of(As(result, *form->op, form->problem, form->inputs, form->got)) : Reach::kNothing;
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
  return !form || is_made(As(other, *form->op, form->problem, form->inputs, form->got));
}

// How far a change that explains a result agrees with another one of the kernel. Other roundings than those inside of
// the formula leave exact data as they are, which then say nothing of them; operands of few bits are no reason for
// wrong results on such data, unless they make these as well.
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

}  // namespace

std::vector<Cause> FindCauses(const WrongResult& wrong, SearchWork& work) {
  WrongResult as_meant = wrong;  // whose roundings are as the data have them
  as_meant.is_exact = false;
  if (IsConstant(wrong.got[wrong.output]) || Holds(as_meant, wrong.problem, wrong.inputs)) return {};
  const WrongPlaces places(wrong);
  const bool say_little = places.SayLittle();
  WrongResult result = wrong;
  result.places = &places;
  result.work = &work;
  result.most_flops *= std::max(1.0, work.Left());
  std::erase_if(result.elements, [&](int64_t element) { return !places.IsWrongElement(element); });
  WrongResult of_moved = result;
  of_moved.least_bits = kLeastBitsOfMoved;
  FoundCauses causes(wrong);
  const auto try_all = [&](const std::vector<CaseChange>& changes) {
    for (const CaseChange& change : changes) {
      if (causes.IsFull() || work.IsOver()) return;
      if ((say_little && change.key != "tie" && change.key != "nan") || causes.Knows(change)) continue;
      ResultFit fit;
      const Reach reach = Explain(of_moved, change, fit);
      causes.Add(change, reach, fit);
    }
  };
  // A few places are likelier to be stored wrongly than to be computed of other operands.
  std::vector<std::pair<CaseChange, ResultFit>> stored;
  for (OutputChange& change : ListStored(result)) {
    change.output = result.output;
    ResultFit fit;
    const Reach reach = places.Explain(change, fit);
    if (reach == Reach::kAll) stored.push_back({{.output = change}, fit});
    if (reach == Reach::kWrongPlaces) causes.Add({.output = change}, reach, fit);
  }
  try_all(ListChanges(result.op, result.problem));
  if (!causes.Explains()) try_all(ListRareChanges(result.problem));
  const auto add_stored = [&](bool moves) {
    if (causes.Explains()) return;
    for (const auto& [change, fit] : stored) {
      if (MovesValues(*change.output) == moves) causes.Add(change, Reach::kAll, fit);
    }
  };
  // Results in other places are said more plainly than by a formula of places.
  add_stored(true);
  // An operand of zeros or ones may be the same as a formula without it, and says it more plainly.
  if (!causes.Explains()) FormulaCauses(result, say_little, causes).Find();
  add_stored(false);
  // Pairs are so many that one of them makes any few bits.
  if (causes.IsEmpty() && !say_little && !causes.AreOfBits()) FindTwoMistakes(result, causes);
  if (causes.IsEmpty() && !say_little && !causes.AreOfBits()) FindTwoPlacesOfForm(result, causes);
  return causes.Take();
}

std::string ExplainNoSearch(const WrongResult& result) {
  if (IsConstant(result.got[result.output]))
    return "all its values are one number, as in memory that nobody has written";
  return WrongPlaces(result).SayLittle() ? "its wrong values are too few to tell one cause from another" : "";
}

bool IsCause(const WrongResult& wrong, const CaseChange& change) {
  if (change.narrowing) {
    SearchWork work(kSecondsOfNarrowing);
    const std::vector<Cause> found = FindCauses(wrong, work);
    return std::ranges::any_of(found, [&](const Cause& cause) {
      return cause.change.narrowing && cause.change.narrowing->node == change.narrowing->node;
    });
  }
  const WrongPlaces places(wrong);
  WrongResult result = wrong;
  result.places = &places;
  return ReachOf(result, change) != Reach::kNothing;
}

}  // namespace assay
