// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/mutation_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "harness/core/data/fill/rng.h"
#include "harness/judge/judge.h"
#include "harness/judge/localise.h"
#include "harness/judge/statistic/outliers.h"
#include "harness/judge/statistic/random_data.h"
#include "harness/judge/statistic/statistic.h"
#include "harness/judge/twin_check.h"
#include "ops/empty_operands.h"
#include "ops/formula_operator/opening.h"

namespace assay {
namespace {

double RoundOut(DType dtype, double x) {
  if (IsInt(dtype)) return std::nearbyint(x);
  return RoundTo(FormatOf(dtype), x);
}

double MeanOfFinite(std::span<const double> values) {
  double sum = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

class Mutations {
 public:
  Mutations(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
            const ElementJudge& judge, const Contract& contract, std::span<const Twin> twins)
      : op_(op),
        problem_(problem),
        output_(output),
        inputs_(inputs),
        judge_(judge),
        contract_(contract),
        twins_(twins),
        dtype_(problem.outputs[output].dtype),
        has_no_terms_(HasEmptyOperand(problem)) {}

  MutationPower Run(Faults faults) {
    const std::span<const double> values(judge_.golden().value);
    if (values.empty()) return {.missed = "the output is empty"};
    Blank({{"an output of zeros", [](std::span<const double>) { return 0.0; }}});
    // A single output is its own mean.
    if (values.size() > 1) Blank({{"a constant output at the mean", MeanOfFinite}});
    // An output that is never written holds either the prefill or NaN.
    Blank({{"an output never written", [](std::span<const double>) { return kUnwrittenValue; }},
           {"an output of NaN", [](std::span<const double>) { return std::numeric_limits<double>::quiet_NaN(); }}});
    SumsInFloat();
    if (faults == Faults::kAll) OmittedTerms();
    power_.power = Share(power_.whole_caught, power_.whole_total);
    if (power_.omitted_total > 0) {
      power_.power = std::min(power_.power, Share(power_.omitted_caught, power_.omitted_total));
    }
    CountUnbounded();
    CountSampled();
    return power_;
  }

 private:
  static double Share(int64_t caught, int64_t total) {
    return static_cast<double>(caught) / static_cast<double>(total);
  }

  bool MainCatches(int64_t i, double mutant) const { return !judge_.Judge(i, mutant).accepted; }
  bool TwinCatches(const Twin& twin, int64_t i, double mutant) const {
    return !TwinAccepts(twin.expected[static_cast<size_t>(i)], mutant, twin.ToleranceAt(i), dtype_);
  }

  struct Constant {
    const char* name;
    std::function<double(std::span<const double>)> value;  // may depend on the fault-free values
  };

  // A tensor that holds one constant, one of these: it says nothing of the data, unless it is the very result.
  void Blank(const std::vector<Constant>& constants) {
    ++power_.whole_total;
    const auto passes =
        std::ranges::find_if(constants, [&](const Constant& c) { return !IsCaught(c) && !IsCertain(c); });
    if (passes == constants.end()) {
      ++power_.whole_caught;
      return;
    }
    if (power_.missed.empty()) power_.missed = passes->name;
    std::string& blank = IsResult(*passes) ? power_.blank_result : power_.blank;
    if (blank.empty()) blank = passes->name;
  }

  bool IsCaught(const Constant& constant) const {
    const int64_t n = judge_.golden().size();
    const double main = RoundOut(dtype_, constant.value(judge_.golden().value));
    bool caught = false;
    for (int64_t i = 0; i < n && !caught; ++i) caught = MainCatches(i, main);
    for (const Twin& twin : twins_) {
      const double coded = RoundOut(dtype_, constant.value(twin.expected));
      const auto size = static_cast<int64_t>(twin.expected.size());
      for (int64_t i = 0; i < size && !caught; ++i) caught = TwinCatches(twin, i, coded);
    }
    return caught;
  }

  // Sums that claim to be of integers, kept in f32 or turned into it at the end. Where f32 holds all that the operands
  // can make it is no fault.
  void SumsInFloat() {
    const FloatFormat& f32 = FormatOf(DType::kF32);
    if (contract_.acc != Accumulator::kI32 ||
        op_.TraitsOf(problem_, output_).largest_integer_sum <= std::ldexp(1.0, f32.precision))
      return;
    ++power_.whole_total;
    const std::vector<double>& values = judge_.golden().value;
    bool caught = false;
    for (size_t i = 0; i < values.size() && !caught; ++i) {
      caught = MainCatches(static_cast<int64_t>(i), RoundTo(f32, values[i]));
    }
    for (const Twin& twin : twins_) {
      for (size_t i = 0; i < twin.expected.size() && !caught; ++i) {
        caught = TwinCatches(twin, static_cast<int64_t>(i), RoundTo(f32, twin.expected[i]));
      }
    }
    power_.whole_caught += caught ? 1 : 0;
    if (!caught && power_.missed.empty()) power_.missed = "integer sums kept in f32, though acc=i32 is declared";
  }

  // Elements that accept anything have no result.
  bool IsResult(const Constant& constant) const {
    const std::vector<double>& values = judge_.golden().value;
    const double blank = RoundOut(dtype_, constant.value(values));
    const bool any_open = !judge_.IsBoundedEverywhere();
    bool any_judged = false;
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      if (any_open && judge_.IsOpen(i)) continue;
      const double rounded = RoundOut(dtype_, values[static_cast<size_t>(i)]);
      if (rounded != blank && !(std::isnan(rounded) && std::isnan(blank))) return false;
      any_judged = true;
    }
    return any_judged;
  }
  // Unwritten memory that happens to be NaN is caught by the other prefill, where NaN is the result. Where there are no
  // terms, a constant is the result whatever the data.
  bool IsCertain(const Constant& constant) const {
    return (has_no_terms_ || std::isnan(constant.value(judge_.golden().value))) && IsResult(constant);
  }

  // The samples above can miss a few outputs among many for which nothing is promised.
  void CountUnbounded() {
    if (judge_.IsBoundedEverywhere()) return;
    const int64_t parts = IsComplex(dtype_) ? 2 : 1, n = judge_.golden().size() / parts;
    int64_t first = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (!judge_.IsOpen(i * parts) && !judge_.IsOpen(i * parts + parts - 1)) continue;
      ++power_.unbounded;
      if (first < 0) first = i;
    }
    if (power_.unbounded == 0) return;
    power_.opening = FindOpening(op_, problem_, output_, inputs_, contract_, judge_.golden().tier, first);
    power_.open_at = IndexText(judge_.golden().shape, first);
    if (!twins_.empty()) return;
    power_.power = std::min(power_.power, Share(n - power_.unbounded, n));
    if (power_.missed.empty()) {
      power_.missed = fmt::format("any result of {} of {} outputs, for which the contract bounds nothing{}",
                                  power_.unbounded, n, power_.DescribeOpening());
    }
  }

  void CountSampled() {
    if (!twins_.empty() || IsInt(dtype_)) return;
    const int64_t n = judge_.golden().size(), step = (n + kZeroSamples - 1) / kZeroSamples;
    const double least = FormatOf(dtype_).MinNormal();
    const bool may_overflow = !judge_.OverflowsNowhere();
    for (int64_t i = 0; i < n; i += step) {
      ++power_.sampled;
      power_.overflowing += may_overflow && judge_.MayOverflow(i) ? 1 : 0;
      if (!(std::fabs(judge_.golden().value[static_cast<size_t>(i)]) >= least)) continue;
      ++power_.nonzero;
      power_.zeros_accepted += MainCatches(i, 0) ? 0 : 1;
    }
  }

  // A mutant on the twin's data is paired with the one that omits the same term of the same output on the main data;
  // either list leaves out terms that are zero in it.
  void OmittedTerms() {
    const std::vector<int64_t> outputs = SampleOutputs(judge_.golden().size());
    std::vector<Mutant> main = op_.OmittedTerms(problem_, output_, inputs_, judge_.golden().value, outputs);
    std::erase_if(main, [&](const Mutant& mutant) { return HasNoEffect(mutant); });
    std::vector<bool> caught(main.size());
    for (size_t k = 0; k < main.size(); ++k) caught[k] = MainCatches(main[k].index, RoundOut(dtype_, main[k].value));
    for (const Twin& twin : twins_) {
      const std::vector<Mutant> coded = op_.OmittedTerms(problem_, output_, twin.inputs, twin.expected, outputs);
      if (!coded.empty() && coded[0].key >= 0) {
        MarkNamed(twin, main, coded, caught);
        continue;
      }
      std::set<std::pair<int64_t, int64_t>> seen;  // output and term
      for (const Mutant& mutant : coded) {
        if (TwinCatches(twin, mutant.index, RoundOut(dtype_, mutant.value))) seen.emplace(mutant.index, mutant.term);
      }
      for (size_t k = 0; k < main.size(); ++k) {
        caught[k] = caught[k] || seen.contains({main[k].index, main[k].term});
      }
    }
    power_.omitted_total = static_cast<int64_t>(main.size());
    power_.omitted_caught = std::count(caught.begin(), caught.end(), true);
    CountVisible(main, caught);
    const auto survivor = std::find(caught.begin(), caught.end(), false);
    if (survivor == caught.end() || !power_.missed.empty()) return;
    DescribeMissed(main[static_cast<size_t>(survivor - caught.begin())]);
  }

  // Terms of the mean size and more change a result by its share of one term at least, or by half of that in a root.
  // Omitting a smaller one is a fault that no contract need notice.
  double LeastShare() const {
    const int64_t terms = CountLongestSum(op_, problem_, output_, inputs_, contract_, /*element=*/0);
    return terms == 0 ? 0 : 0.5 / static_cast<double>(terms);
  }

  void CountVisible(const std::vector<Mutant>& main, const std::vector<bool>& caught) {
    if (main.empty() || !twins_.empty()) return;
    const bool statistic = StatisticApplies(judge_);
    const double share = LeastShare();
    for (size_t k = 0; k < main.size(); ++k) {
      const double y = judge_.golden().value[static_cast<size_t>(main[k].index)],
                   value = RoundOut(dtype_, main[k].value);
      const double gap = IsInt(dtype_) ? 1 : UlpAt(FormatOf(dtype_), y);
      const double size =
          std::max(std::fabs(y), PlaneAt(judge_.golden().magnitude, main[k].index, judge_.golden().size()));
      if (std::fabs(main[k].value - y) <= std::max(caught[k] ? 0 : gap, share * size)) continue;
      ++power_.visible_total;
      const auto is_suspect = [&] {
        return statistic && judge_.Deviation(main[k].index, judge_.Judge(main[k].index, value)) > kElementThreshold;
      };
      power_.visible_noticed += caught[k] || is_suspect() ? 1 : 0;
    }
  }

  // An infinity or NaN that is one without the term as well: nobody could tell.
  bool HasNoEffect(const Mutant& mutant) const {
    const double y = judge_.golden().value[static_cast<size_t>(mutant.index)];
    return std::isnan(y) ? std::isnan(mutant.value) : std::isinf(y) && mutant.value == y;
  }

  // Mutants that carry names: those that the twin's data shows under the same name.
  void MarkNamed(const Twin& twin, const std::vector<Mutant>& main, const std::vector<Mutant>& coded,
                 std::vector<bool>& caught) const {
    std::set<int64_t> seen;
    for (const Mutant& mutant : coded) {
      if (TwinCatches(twin, mutant.index, RoundOut(dtype_, mutant.value))) seen.insert(mutant.key);
    }
    for (size_t k = 0; k < main.size(); ++k) caught[k] = caught[k] || seen.contains(main[k].key);
  }

  void DescribeMissed(const Mutant& mutant) {
    const int64_t parts = IsComplex(dtype_) ? 2 : 1;
    power_.missed = fmt::format("{} of {} omitted terms, such as one of output {} (golden {:.9g}, without it {:.9g})",
                                power_.omitted_total - power_.omitted_caught, power_.omitted_total,
                                IndexText(judge_.golden().shape, mutant.index / parts),
                                judge_.golden().value[static_cast<size_t>(mutant.index)], mutant.value);
  }

  const Operator& op_;
  const Problem& problem_;
  size_t output_;
  std::span<const Tensor> inputs_;
  const ElementJudge& judge_;
  const Contract& contract_;
  std::span<const Twin> twins_;
  DType dtype_;
  bool has_no_terms_;
  MutationPower power_;
};

}  // namespace

std::vector<int64_t> SampleOutputs(int64_t n) {
  std::vector<int64_t> outputs;
  if (n <= kMutationPowerSamples) {
    for (int64_t i = 0; i < n; ++i) outputs.push_back(i);
    return outputs;
  }
  outputs.push_back(0);
  const RandomStream random(0, 0);
  const int64_t stretches = kMutationPowerSamples - 2;
  for (int64_t k = 0; k < stretches; ++k) {
    // Stretch k of [1, n - 1).
    const int64_t begin = 1 + (n - 2) * k / stretches;
    const int64_t end = 1 + (n - 2) * (k + 1) / stretches;
    outputs.push_back(begin +
                      static_cast<int64_t>(random.Below(static_cast<uint64_t>(k), static_cast<uint64_t>(end - begin))));
  }
  outputs.push_back(n - 1);
  return outputs;
}

std::string MutationPower::DescribeOpening() const {
  return opening ? fmt::format(", as at {}, where {}", open_at, opening->text) : "";
}

std::string MutationPower::DescribeMissedFaults() const {
  if (!blank.empty()) return blank;
  if (2 * zeros_accepted > nonzero) return fmt::format("a zero in place of {} of {} results", zeros_accepted, nonzero);
  return "";
}

MutationPower MeasureMutationPower(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, const Golden& golden, const BoundModel& bound,
                                   const Contract& contract, std::span<const Twin> twins, Faults faults) {
  const ElementJudge judge(golden, bound, contract, problem.outputs[output].dtype);
  return Mutations(op, problem, output, inputs, judge, contract, twins).Run(faults);
}

}  // namespace assay
