// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/cause.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "harness/core/data/infinity.h"
#include "harness/judge/judge.h"
#include "harness/tools/explain/change_reach.h"
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

// Adds causes in the formula, as people read it.
class FormulaCauses {
 public:
  // Where wrong values say little, only roundings are tried, which all values bear witness to.
  FormulaCauses(const WrongResult& result, bool say_little, FoundCauses& causes)
      : result_(result), say_little_(say_little), causes_(causes) {}

  void Find() {
    for (const Form& form : FormsOf(result_.problem, result_.inputs, result_.got)) {
      if (IsOver()) return;
      const WrongResult as = TakeAsResultOf(result_, *form.op, form.problem, form.inputs, form.got);
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

// Mistakes of an attribute or an operand beside one of the formula. So many pairs are tried that some come near a few
// places: all elements have to hold by both.
void FindTwoMistakes(const WrongResult& result, FoundCauses& causes) {
  if (result.work->IsOver()) return;
  if (dynamic_cast<const FormulaOperator*>(&result.op) == nullptr || !IsSmall(result.problem)) return;
  const std::vector<CaseChange> usual = ListFormulaChanges(result.op, result.problem);
  for (const CaseChange& first : ListChanges(result.op, result.problem)) {
    const std::optional<CaseOfMistake> made = MakeMistake(result, first);
    if (!made) continue;
    const WrongResult as = TakeAsResultOf(result, result.op, made->problem, made->inputs, result.got);
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
    const WrongResult as = TakeAsResultOf(result, *op, result.problem, result.inputs, result.got);
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
    FindTwoPlaces(TakeAsResultOf(result, *form->op, form->problem, form->inputs, form->got), causes);
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
