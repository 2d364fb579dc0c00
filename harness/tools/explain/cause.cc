// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/cause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "harness/core/base/stopwatch.h"
#include "harness/judge/judge.h"
#include "harness/judge/judge_output.h"
#include "harness/tools/explain/forms.h"
#include "ops/formula/faults.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int64_t kOtherSlices = 8;  // beside those with wrong elements
constexpr double kMostFlops = 1e8;   // of a case that has no slices

// Whether something is promised for most elements: else they contradict nothing.
bool IsMostlyBounded(const ElementJudge& judge) {
  if (judge.IsBoundedEverywhere()) return true;
  const int64_t n = judge.golden().size();
  int64_t open = 0;
  for (int64_t i = 0; i < n; ++i) open += judge.IsOpen(i) ? 1 : 0;
  return 2 * open <= n;
}

// Whether `got` is right for these operands, and something else would not be: the right result of the case that was
// meant, if it is known. Sets `fit` then.
bool IsRight(const WrongResult& result, const Problem& problem, size_t output, const std::vector<Tensor>& inputs,
             Tensor got, const Golden* meant = nullptr, ResultFit* fit = nullptr) {
  const Golden golden = result.op.ComputeGolden(problem, output, inputs, result.tier);
  const BoundModel bound = result.op.Bound(problem, output, golden, result.contract);
  const ElementJudge judge(golden, bound, result.contract, got.dtype());
  if (!IsMostlyBounded(judge)) return false;
  const JudgedBy by{result.op, problem, output, inputs, golden, bound, result.contract};
  const ErrorMetrics metrics = JudgeOutput(by, got);
  if (!Holds(metrics)) return false;
  if (fit != nullptr) *fit = MeasureFit(judge, metrics, got);
  if (meant == nullptr) return true;
  Tensor other(got.dtype(), got.shape());
  other.SetDoubles(meant->value);
  return !Holds(JudgeOutput(by, other));
}

// Whether all is one constant, as in memory that nobody has written.
bool IsConstant(const Tensor& tensor) {
  const std::vector<double> values = tensor.ToDoubles();
  return values.size() > 1 && std::ranges::all_of(values, [&](double x) { return x == values[0]; });
}

// Whether wrong elements say so little that one of some hundred other cases may hit them by chance: what an element
// says is how often its tolerance goes into its error, and little where only few values are possible.
bool SayLittle(const WrongResult& result) {
  constexpr double kEnoughBits = 16, kBitsOfExact = 2, kBitsOfSpecial = 4, kMostBits = 24;
  const Tensor& got = result.got[result.output];
  const BoundModel bound = result.op.Bound(result.problem, result.output, result.golden, result.contract);
  const ElementJudge judge(result.golden, bound, result.contract, got.dtype());
  const std::vector<double> values = got.ToDoubles();
  double bits = 0;
  for (size_t i = 0; i < values.size() && bits < kEnoughBits; ++i) {
    const Judgement judged = judge.Judge(static_cast<int64_t>(i), values[i]);
    if (judged.accepted) continue;
    const double ratio = std::fabs(judged.error) / judged.Tolerance();
    bits += !judged.finite        ? kBitsOfSpecial
            : judged.allowed == 0 ? kBitsOfExact
                                  : std::min(std::log2(ratio), kMostBits);
  }
  return bits < kEnoughBits;
}

// Whether the result is right for these operands, on slices around wrong elements first. Sets `fit` then.
bool Holds(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs,
           const Golden* meant = nullptr, ResultFit* fit = nullptr) {
  const auto part = TakePart(result.op, problem, result.output, inputs, result.elements, kOtherSlices);
  if (!part && problem.flops > kMostFlops) return false;
  const Tensor& wrong = result.got[result.output];
  if (part && !IsRight(result, part->problem, result.output, part->inputs, part->TakeOutput(wrong))) return false;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    const bool is_wrong = k == result.output;
    if (!IsRight(result, problem, k, inputs, result.got[k].Clone(), is_wrong ? meant : nullptr,
                 is_wrong ? fit : nullptr)) {
      return false;
    }
  }
  return true;
}

// Takes the result for one of another operator.
WrongResult As(const WrongResult& result, const Operator& op, const Problem& problem, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& got) {
  return {op, problem, inputs, got, result.contract, result.golden, result.tier, result.output, result.elements};
}

// Whether a formula is much nearer to a few wrong elements than the golden value, in doubles: most are not, and need
// no bound to tell so.
class NearElements {
 public:
  explicit NearElements(const WrongResult& result) : inputs_(ReadElements(result.inputs)) {
    const Tensor& got = result.got[result.output];
    if (IsComplex(got.dtype())) return;
    for (const int64_t element : std::span(result.elements).first(std::min<size_t>(kMost, result.elements.size()))) {
      double value = 0;
      got.Read(element, {&value, 1});
      elements_.push_back({element, value, std::fabs(value - result.golden.value[static_cast<size_t>(element)])});
    }
  }

  bool MayBeOf(const formula::Graph& graph) const {
    formula::LaneEvaluator evaluator(graph, graph.outputs[0], inputs_);
    return std::ranges::all_of(elements_, [&](const Element& wrong) {
      const int64_t lane = evaluator.LaneOf(wrong.element);
      const std::vector<int64_t> in_lane = evaluator.Elements(lane);
      const std::span<const double> values = evaluator.Run(lane, {});
      const auto at = static_cast<size_t>(std::ranges::find(in_lane, wrong.element) - in_lane.begin());
      return !(std::fabs(values[at] - wrong.got) > wrong.error / 2);  // true of NaN
    });
  }

 private:
  static constexpr size_t kMost = 3;
  struct Element {
    int64_t element;
    double got, error;
  };
  std::vector<std::vector<double>> inputs_;
  std::vector<Element> elements_;
};

bool ExplainsByFormula(const WrongResult& result, const formula::GraphChange& change, const NearElements& near,
                       ResultFit& fit) try {
  const auto op = dynamic_cast<const FormulaOperator&>(result.op).WithChange(change);
  if (!near.MayBeOf(op->DefinitionOf(result.problem, result.output).graph())) return false;
  return Holds(As(result, *op, result.problem, result.inputs, result.got), result.problem, result.inputs,
               &result.golden, &fit);
} catch (const formula::FormulaError&) {
  return false;  // some of its slices have another graph
}

// Causes as people read them, where no attribute or operand is one.
class FormulaCauses {
 public:
  FormulaCauses(const WrongResult& result, const Stopwatch& time, double seconds)
      : result_(result), time_(time), seconds_(seconds) {}

  std::vector<Cause> Find() {
    TryChangesOf(result_);
    if (IsOver()) return std::move(causes_);
    const std::vector<Form> forms = FormsOf(result_.problem, result_.inputs, result_.got);
    for (const Form& form : forms) {
      if (IsOver()) break;
      const WrongResult as = As(result_, *form.op, form.problem, form.inputs, form.got);
      ResultFit fit;
      if (form.text.empty()) {
        TryChangesOf(as);
      } else if (Holds(as, form.problem, form.inputs, &result_.golden, &fit)) {
        causes_.push_back({{.formula = formula::GraphChange{.text = form.text}}, fit});
      }
    }
    return std::move(causes_);
  }

 private:
  bool IsOver() const { return causes_.size() == kMostCauses || time_.Seconds() > seconds_; }
  void TryChangesOf(const WrongResult& result) {
    const std::vector<CaseChange> changes = ListFormulaChanges(result.op, result.problem);
    if (changes.empty()) return;
    const NearElements near(result);
    for (const CaseChange& change : changes) {
      if (IsOver()) return;
      ResultFit fit;
      if (ExplainsByFormula(result, *change.formula, near, fit)) causes_.push_back({change, fit});
    }
  }

  const WrongResult& result_;
  const Stopwatch& time_;
  double seconds_;
  std::vector<Cause> causes_;
};

bool Explains(const WrongResult& result, const CaseChange& change, ResultFit& fit) {
  const std::optional<Problem> problem = ChangeCase(result.op, result.problem, change);
  if (!problem) return false;
  if (!change.key.empty()) {
    const Golden* const meant =
        change.key == "tie" ? nullptr : &result.golden;  // any order takes the one that was meant
    return result.op.CheckInputs(*problem, result.inputs) && Holds(result, *problem, result.inputs, meant, &fit);
  }
  const std::vector<Tensor> inputs = ChangeInputs(result.inputs, change);
  return result.op.CheckInputs(*problem, inputs) && Holds(result, *problem, inputs, &result.golden, &fit);
}

}  // namespace

ResultFit MeasureFit(const ElementJudge& judge, const ErrorMetrics& metrics, const Tensor& got) {
  const std::vector<double> values = got.ToDoubles();
  ResultFit fit{
      .values = std::ssize(values), .wrong = metrics.violations + metrics.nonfinite_mismatch, .rms = metrics.rms_err};
  for (int64_t i = 0; i < fit.values; ++i) {
    const double rounded = judge.Rounded(i), value = values[static_cast<size_t>(i)];
    fit.equal += value == rounded || (std::isnan(value) && std::isnan(rounded)) ? 1 : 0;
  }
  return fit;
}

std::vector<Cause> FindCauses(const WrongResult& result, double seconds) {
  const Stopwatch time;
  std::vector<Cause> causes;
  if (IsConstant(result.got[result.output]) || Holds(result, result.problem, result.inputs)) return causes;
  const bool say_little = SayLittle(result);
  for (const CaseChange& change : ListChanges(result.op, result.problem)) {
    if (causes.size() == kMostCauses || time.Seconds() > seconds) break;
    if (say_little && change.key != "tie") continue;
    const auto is_known = [&](const Cause& cause) { return !change.key.empty() && cause.change.key == change.key; };
    ResultFit fit;
    if (std::ranges::none_of(causes, is_known) && Explains(result, change, fit)) causes.push_back({change, fit});
  }
  // An operand of zeros or ones may be the same as a formula without it, and says it more plainly.
  if (causes.empty() && !say_little) return FormulaCauses(result, time, seconds).Find();
  return causes;
}

std::string ExplainNoSearch(const WrongResult& result) {
  if (IsConstant(result.got[result.output]))
    return "all its values are one number, as in memory that nobody has written";
  return SayLittle(result) ? "its wrong values are too few to tell one cause from another" : "";
}

bool IsCause(const WrongResult& result, const CaseChange& change) {
  ResultFit fit;
  if (!change.formula) return Explains(result, change, fit);
  const bool is_formula = dynamic_cast<const FormulaOperator*>(&result.op) != nullptr;
  for (const Form& form : FormsOf(result.problem, result.inputs, result.got)) {
    const WrongResult as = As(result, *form.op, form.problem, form.inputs, form.got);
    if (form.text == change.formula->text) return Holds(as, form.problem, form.inputs, &result.golden, &fit);
    if (!is_formula && form.text.empty()) return ExplainsByFormula(as, *change.formula, NearElements(as), fit);
  }
  return is_formula && ExplainsByFormula(result, *change.formula, NearElements(result), fit);
}

std::string DescribeCause(const Problem& problem, const Cause& cause, const AttributeText& attribute) {
  return cause.change.key.empty() ? DescribeChange(problem, cause.change) : attribute(cause.change);
}

std::string DescribeCauses(const Problem& problem, const std::vector<Cause>& causes, const AttributeText& attribute) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes) texts.push_back(DescribeCause(problem, cause, attribute));
  return texts.empty() ? "" : fmt::format("; it is the right result of {}", fmt::join(texts, ", or of "));
}

bool IsSmall(const Problem& problem) {
  constexpr double kFlops = 1e7, kBytes = 0x1p19;
  return problem.flops < kFlops && problem.bytes < kBytes;
}

}  // namespace assay
