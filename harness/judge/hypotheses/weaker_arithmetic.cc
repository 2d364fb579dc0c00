// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/hypotheses/weaker_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "harness/judge/hypotheses/hypotheses.h"
#include "harness/judge/hypotheses/recognisers.h"
#include "harness/judge/hypotheses/weaker_arithmetic_fit.h"
#include "harness/judge/judge.h"
#include "harness/judge/metrics.h"
#include "harness/judge/statistic/random_data.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

// The operands as the unit sees them: only the factors go through it. False: no change.
bool RoundOperands(const Hypothesis& hypothesis, const Operator& op, const Problem& problem, size_t output,
                   std::span<const Tensor> inputs, std::vector<Tensor>& rounded) {
  bool changed = false;
  const size_t factors = op.TraitsOf(problem, output).factors;
  for (size_t k = 0; k < inputs.size(); ++k) {
    rounded.push_back(inputs[k].Clone());
    if (k >= factors || !IsFloat(inputs[k].dtype())) continue;
    std::vector<double> values = inputs[k].ToDoubles();
    for (double& x : values) {
      const double seen = hypothesis.operand(inputs[k].dtype(), x);
      changed = changed || seen != x;
      x = seen;
    }
    rounded.back().SetDoubles(values);
  }
  return changed;
}

// Widens the bound from one rounding to `roundings` at each place.
void AddRoundings(double roundings, BoundModel& bound) {
  for (BoundTerm& term : bound.terms) term.coefficient *= roundings;
  bound.statistic.sigma_scale *= std::sqrt(roundings);
  bound.statistic.floor *= std::sqrt(roundings);
}

double BytesOf(const Golden& golden) {
  const auto plane = [](const Plane& p) { return static_cast<double>(p.size()) * (p.wide() ? 8 : 4); };
  double bytes = 8 * static_cast<double>(golden.value.size() + golden.value_lo.size());
  bytes += plane(golden.magnitude) + plane(golden.sigma) + plane(golden.error);
  for (const auto& [name, extra] : golden.extra) bytes += plane(extra);
  return bytes;
}

// Slices beside those of the worst elements that a weaker arithmetic has to explain before the whole case is tried.
constexpr int64_t kOtherSlices = 4;

class Search {
 public:
  Search(const Operator& op, const Problem& problem, size_t output, const Contract& declared, const Golden& golden,
         const JudgedOutput& main, HypothesisGoldens& goldens)
      : op_(op), problem_(problem), output_(output), declared_(declared), golden_(golden), goldens_(goldens) {
    std::vector<int64_t> elements;
    for (const WorstElement& worst : main.worst) elements.push_back(worst.index);
    if (elements.empty()) return;
    worst_ = Take(main, std::span(elements).first(1), 0);
    part_ = Take(main, elements, kOtherSlices);
    if (part_ == nullptr) part_ = worst_;
  }

  // Name of the weaker arithmetic for these results, and the main output's metrics under it.
  struct Explanation {
    std::string name;
    ErrorMetrics metrics;
    std::optional<double> stat_margin;
  };
  std::optional<Explanation> Explains(const Hypothesis& hypothesis, const JudgedOutput& main,
                                      std::span<const JudgedOutput> twins) const {
    const bool has_sums = hypothesis.partials || hypothesis.accumulator;
    if (worst_ && IsRefutedBy(*worst_, hypothesis, has_sums)) return std::nullopt;
    std::string name = hypothesis.name;
    const bool may_be_formed = has_sums && (!part_ || MayBeFormed(hypothesis));
    if (hypothesis.partials && !may_be_formed) return std::nullopt;
    const bool has_results = !hypothesis.results || hypothesis.results(*main.got);
    if (!has_results && !may_be_formed) return std::nullopt;
    if (part_ && (part_ != worst_ || has_sums) && IsRefutedBy(*part_, hypothesis, may_be_formed)) return std::nullopt;
    const auto order = may_be_formed ? RecognisedSums(hypothesis, main) : std::nullopt;
    if (!order && (hypothesis.partials || !has_results)) return std::nullopt;
    if (order) name += (hypothesis.partials ? " " : ", ") + *order;
    const Contract contract = JudgingContract(hypothesis);
    const As as = order ? As::kRecognised : As::kMain;
    auto metrics = MeasureIfHolds(hypothesis, contract, main, as);
    const auto holds = [&](const JudgedOutput& twin) {
      return MeasureIfHolds(hypothesis, contract, twin, As::kTwin).has_value();
    };
    if (!metrics || !std::ranges::all_of(twins, holds)) return std::nullopt;
    std::optional<double> stat_margin;
    if (!ReplacesStatistic(hypothesis, as)) stat_margin = metrics->statistic.margin;
    return Explanation{std::move(name), *std::move(metrics), stat_margin};
  }

 private:
  // Slices of the case, what they are and what they should be.
  struct Part : Subproblem {
    Tensor got;
    HypothesisGoldens::Made golden;
  };
  std::shared_ptr<const Part> Take(const JudgedOutput& main, std::span<const int64_t> elements, int64_t more) const {
    auto taken = TakePart(op_, problem_, output_, main.inputs, elements, more);
    if (!taken) return nullptr;
    Tensor got = taken->TakeOutput(*main.got);
    auto golden =
        std::make_shared<const Golden>(op_.ComputeGolden(taken->problem, output_, taken->inputs, golden_.tier));
    return std::make_shared<const Part>(Part{*std::move(taken), std::move(got), std::move(golden)});
  }

  // The main output, its sums recognised or not, or a twin's.
  enum class As { kMain, kRecognised, kTwin };

  // No random error is left for the statistic if every sum comes out as predicted.
  static bool ReplacesStatistic(const Hypothesis& hypothesis, As as) {
    return hypothesis.accumulator && as == As::kRecognised;
  }

  // Whether the part leaves it open that RecognisedSums names sums of this class, which has some.
  bool MayBeFormed(const Hypothesis& hypothesis) const {
    const BoundModel bound = op_.Bound(part_->problem, output_, *part_->golden, declared_);
    const ElementJudge judge(*part_->golden, bound, declared_, part_->got.dtype());
    if (!StatisticApplies(judge)) return false;
    const DType type = hypothesis.partials ? *hypothesis.partials : *hypothesis.accumulator;
    if (hypothesis.partials && op_.Narrowed(part_->problem, output_, part_->inputs, FormatOf(type)) != nullptr)
      return true;
    const auto may = hypothesis.partials ? MayRoundPartials : MaySumNarrowly;
    const auto products = op_.Products(part_->problem, output_, part_->inputs);
    return products != nullptr && may(*products, judge, part_->got, FormatOf(type));
  }

  std::optional<std::string> RecognisedSums(const Hypothesis& hypothesis, const JudgedOutput& main) const {
    if (!hypothesis.partials && !hypothesis.accumulator) return std::nullopt;
    const BoundModel bound = op_.Bound(problem_, output_, golden_, declared_);
    const ElementJudge judge(golden_, bound, declared_, main.got->dtype());
    if (!StatisticApplies(judge)) return std::nullopt;  // what would remain has no known size
    if (hypothesis.partials) {
      const auto orders = op_.Narrowed(problem_, output_, main.inputs, FormatOf(*hypothesis.partials));
      if (orders != nullptr) return RecognisedOrderOf(hypothesis, *orders, judge, *main.got);
    }
    const auto find = hypothesis.partials ? FindRoundedPartials : FindNarrowSums;
    const DType type = hypothesis.partials ? *hypothesis.partials : *hypothesis.accumulator;
    const auto products = op_.Products(problem_, output_, main.inputs);
    return products ? find(*products, judge, *main.got, FormatOf(type)) : std::nullopt;
  }

  std::optional<std::string> RecognisedOrderOf(const Hypothesis& hypothesis, const NarrowedOrders& orders,
                                               const ElementJudge& judge, const Tensor& got) const {
    Contract contract = declared_;
    hypothesis.judge_by(contract);
    const BoundModel bound = op_.Bound(problem_, output_, golden_, contract);
    return FindNarrowedOrder(problem_, orders, judge, ElementJudge(golden_, bound, contract, got.dtype()), got);
  }

  Contract JudgingContract(const Hypothesis& hypothesis) const {
    Contract contract = declared_;
    if (hypothesis.judge_by) hypothesis.judge_by(contract);
    return contract;
  }

  BoundModel BoundBy(const Hypothesis& hypothesis, const Problem& problem, const Golden& golden,
                     const Contract& contract) const {
    BoundModel bound = op_.Bound(problem, output_, golden, contract);
    AddRoundings(hypothesis.roundings, bound);
    return bound;
  }

  // A narrow accumulator promises nothing for sums of more than 1 / (2 u) terms; an error of S is no result at all.
  static void LimitToMagnitude(BoundModel& bound) {
    for (BoundTerm& term : bound.terms) term.coefficient = std::min(term.coefficient, 1.0);
    if (!std::isfinite(bound.constant)) bound.constant = bound.statistic.constant = 0;
  }

  // Whether elements of a part of the case are beyond what the class permits, so that the whole is. Sums that may be
  // recognised have no deviations of their own.
  bool IsRefutedBy(const Part& part, const Hypothesis& hypothesis, bool may_be_formed) const {
    const ErrorMetrics metrics = MeasureOn(part, hypothesis);
    if (!metrics.Holds()) return true;
    return !may_be_formed && metrics.statistic.applicable && metrics.statistic.max_r > kElementThreshold;
  }

  ErrorMetrics MeasureOn(const Part& part, const Hypothesis& hypothesis) const {
    const bool as_they_are = !hypothesis.operand && !hypothesis.golden;
    auto golden = as_they_are ? part.golden : MakeGolden(hypothesis, part.problem, part.inputs, false);
    if (golden == nullptr) golden = part.golden;  // nothing of it changes
    const Contract contract = JudgingContract(hypothesis);
    BoundModel bound = BoundBy(hypothesis, part.problem, *golden, contract);
    LimitToMagnitude(bound);
    return Measure(*golden, bound, contract, part.got, {.even_if_stagnating = true, .only_if_holds = true});
  }

  // Null where the class makes nothing else of the case's operands.
  HypothesisGoldens::Made MakeGolden(const Hypothesis& hypothesis, const Problem& problem,
                                     std::span<const Tensor> inputs, bool is_twin) const {
    if (hypothesis.golden) {
      auto golden = hypothesis.golden(op_, problem, output_, inputs, golden_.tier);
      return golden ? std::make_shared<const Golden>(*std::move(golden)) : nullptr;
    }
    std::vector<Tensor> rounded;
    if (hypothesis.operand && !RoundOperands(hypothesis, op_, problem, output_, inputs, rounded) && !is_twin)
      return nullptr;
    return std::make_shared<const Golden>(op_.ComputeGolden(
        problem, output_, hypothesis.operand ? std::span<const Tensor>(rounded) : inputs, golden_.tier));
  }

  std::optional<ErrorMetrics> MeasureIfHolds(const Hypothesis& hypothesis, const Contract& contract,
                                             const JudgedOutput& output, As as) const {
    const bool is_twin = as == As::kTwin;
    HypothesisGoldens::Made own;
    if (is_twin || hypothesis.operand || hypothesis.golden) {
      const bool as_they_are = !hypothesis.operand && !hypothesis.golden;
      own = goldens_.Get(as_they_are ? "" : hypothesis.field + " " + hypothesis.name, output.inputs,
                         [&] { return MakeGolden(hypothesis, problem_, output.inputs, is_twin); });
      if (own == nullptr) return std::nullopt;
    }
    const Golden& golden = own ? *own : golden_;
    BoundModel bound = BoundBy(hypothesis, problem_, golden, contract);
    if (hypothesis.partials && as == As::kRecognised && !bound.statistic.applicable) {
      auto own_errors = StatisticOfOwnErrors(golden, *output.got, contract.AccUnitRoundoff());
      if (!own_errors) return std::nullopt;
      bound.statistic = *std::move(own_errors);
    }
    LimitToMagnitude(bound);
    ErrorMetrics metrics =
        Measure(golden, bound, contract, *output.got, {.even_if_stagnating = true, .only_if_holds = true});
    if (!metrics.Holds()) return std::nullopt;
    const ElementJudge judge(golden, bound, contract, output.got->dtype());
    if (BreaksExactSum(sum_, output.inputs, golden, contract, judge, *output.got)) return std::nullopt;
    FloatFormat held = FormatOf(DType::kF32);
    held.precision = hypothesis.precision;
    if (is_twin && hypothesis.precision > 0 && !HoldsPrecision(held, *output.got)) return std::nullopt;
    if (as != As::kRecognised && NarrowsSums(contract) && KeepsToPlacesBy(judge, *output.got)) return std::nullopt;
    if (is_twin || ReplacesStatistic(hypothesis, as)) return metrics;
    if (!metrics.statistic.applicable || !metrics.statistic.Holds()) return std::nullopt;
    if (own != nullptr && hypothesis.halves_errors && !HalvesSquaredErrors(judge, *output.got)) return std::nullopt;
    if (hypothesis.fills && !hypothesis.fills(judge, *output.got, metrics)) return std::nullopt;
    if (contract.acc == Accumulator::kTensorCore && !ScattersLikeUnit(contract, judge, output)) return std::nullopt;
    return metrics;
  }

  bool ScattersLikeUnit(const Contract& contract, const ElementJudge& judge, const JudgedOutput& output) const {
    const int64_t element = output.worst.empty() ? 0 : output.worst.front().index;
    const auto terms = static_cast<double>(CountLongestSum(op_, problem_, output_, output.inputs, contract, element));
    return ScattersLikeTruncation(judge, *output.got, terms, std::max(1, contract.tc_block));
  }

  // A class with another golden value is there for that: with it at least half is gone of the squared errors, but for
  // the output's own rounding.
  bool HalvesSquaredErrors(const ElementJudge& by_class, const Tensor& got) const {
    const BoundModel bound = op_.Bound(problem_, output_, golden_, declared_);
    const ElementJudge as_declared(golden_, bound, declared_, got.dtype());
    const std::vector<double> values = got.ToDoubles();
    double squares = 0, left = 0;
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      const Judgement before = as_declared.Judge(i, values[i]), after = by_class.Judge(i, values[i]);
      if (!before.finite || !after.finite) continue;
      squares += std::pow(std::max(0.0, before.Beyond()), 2);
      left += std::pow(std::max(0.0, after.Beyond()), 2);
    }
    return left <= 0.5 * squares;
  }

  // Whether the class is about sums, whose errors are wherever sums are, and not about values of some size.
  bool NarrowsSums(const Contract& by_class) const {
    return by_class.acc != declared_.acc || by_class.mid != declared_.mid;
  }

  bool KeepsToPlacesBy(const ElementJudge& by_class, const Tensor& got) const {
    const BoundModel bound = op_.Bound(problem_, output_, by_class.golden(), declared_);
    return HasConfinedErrors(ElementJudge(by_class.golden(), bound, declared_, got.dtype()), by_class, got);
  }

  const Operator& op_;
  const Problem& problem_;
  size_t output_;
  const std::optional<SumForm> sum_ = op_.TraitsOf(problem_, output_).sum;
  const Contract& declared_;
  const Golden& golden_;
  HypothesisGoldens& goldens_;
  // The slices with the worst elements of the main output, and those with the worst one alone, which most classes do
  // not explain; null where they would be most of the case. The latter stands for both then.
  std::shared_ptr<const Part> part_, worst_;
};

}  // namespace

HypothesisGoldens::Made HypothesisGoldens::Get(const std::string& name, std::span<const Tensor> inputs,
                                               const std::function<Made()>& make) {
  const auto key = std::pair(name, inputs.data());
  if (const auto it = goldens_.find(key); it != goldens_.end()) return it->second;
  ++made_;
  Made golden = make();
  const double bytes = golden == nullptr ? 0 : BytesOf(*golden);
  if (bytes_ + bytes > most_bytes_) return golden;
  bytes_ += bytes;
  goldens_.emplace(key, golden);
  return golden;
}

std::optional<WeakerArithmetic> FindWeakerArithmetic(const Operator& op, const Problem& problem, size_t output,
                                                     const Contract& declared, const Golden& golden,
                                                     const JudgedOutput& main, std::span<const JudgedOutput> twins,
                                                     HypothesisGoldens* goldens) {
  if (!IsFloat(main.got->dtype()) || IsComplex(main.got->dtype()) || golden.exact) return std::nullopt;
  HypothesisGoldens own;
  const Search search(op, problem, output, declared, golden, main, goldens == nullptr ? own : *goldens);
  const bool sums = op.TraitsOf(problem, output).sums;
  for (const Hypothesis& hypothesis : ListHypotheses()) {
    Contract weaker = declared;
    hypothesis.weaken(weaker);
    // A class that the declaration already permits explains nothing.
    if (!Meets(declared, weaker) || Meets(weaker, declared)) continue;
    const bool is_of_sums = weaker.acc != declared.acc || weaker.mid != declared.mid;
    if (is_of_sums && !sums) continue;
    if (weaker.acc == Accumulator::kTensorCore && !FitsMatrixUnit(op, problem, output, weaker, main.inputs)) continue;
    if (const auto found = search.Explains(hypothesis, main, twins)) {
      return WeakerArithmetic{weaker, hypothesis.field, found->name, found->metrics.bound_margin, found->stat_margin};
    }
  }
  return std::nullopt;
}

}  // namespace assay
