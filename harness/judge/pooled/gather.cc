// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/pooled/gather.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "harness/judge/pooled/values.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

// Where the last bits of operands are lost, the answer is 1, or -1/2 where they are rounded off; of a part of the
// operands that share of it. Roundings of correct products follow the bits by less than a hundredth.
constexpr double kLeastOfOperandBits = 0.125;

// A constant rounds, so does its product with another one, log2 e say, and that one itself; functions that err by up to
// their ulp, in proportion to their argument, do as a wrong constant does.
double LeastOfConstant(const Contract& contract) {
  const double u = contract.AccUnitRoundoff();
  return 4 * u + 3 * 2 * u * std::max(contract.math_ulp, 0.5);
}

// How far roundings may lean to one side in all results together where no model of sums says it, in deviations with
// their slack. A constant of a formula rounds once for all, by u at most, which is 1.9 of those of one rounding. Sums
// of n terms lean by 0.64 u n^1.5 (AddGridBias): less than this up to 139,000 terms in f32, and as long as they do not
// stagnate in narrower types.
constexpr double kDrift = 2;
// Softmax and attention, whose rows share errors, have no constants but those that their own question is granted.
constexpr double kDriftOfRows = 1.0 / 16;
constexpr int64_t kLongRow = 14'000;  // 0.64 u n^1.5 in f32

double DriftOf(const ElementJudge& judge) {
  const StatisticModel& model = judge.bound().statistic;
  const bool are_rows = model.sharing > 0 && model.sharing <= kLongRow && !model.independent_rows;
  const bool is_wide = judge.params().u_acc <= 0x1p-24;
  return model.lean.value_or(are_rows && is_wide ? kDriftOfRows : kDrift);
}

// How a question treats what functions and the like may cost always in the same direction.
enum class Systematic : uint8_t {
  kGranted,  // all of it, as if it all agreed with the question
  kChance,   // the question's effect has no sign that it could follow: it is one more deviation
};

// How many consecutive values err together.
int64_t BlockOf(const ElementJudge& judge) {
  const StatisticModel& model = judge.bound().statistic;
  if (!model.shared) return 1;
  return model.sharing > 0 ? model.sharing : judge.golden().size();
}

// The sums of one question over a result.
class Sums {
 public:
  Sums(const std::vector<PooledValue>& values, int64_t block, double lean)
      : values_(values), block_(block), lean_(lean) {}

  // `effect_of` value i.
  template <class EffectOf>
  PooledTest Of(const std::string& question, const EffectOf& effect_of, Systematic systematic) const {
    PooledTest sums{.question = question};
    for (size_t begin = 0; begin < values_.size(); begin += static_cast<size_t>(block_)) {
      AddBlock(begin, std::min(values_.size(), begin + static_cast<size_t>(block_)), effect_of, systematic, sums);
    }
    return sums;
  }

 private:
  // Within a block deviations are taken to be all the same; what the outputs' own rounding adds is not.
  template <class EffectOf>
  void AddBlock(size_t begin, size_t end, const EffectOf& effect_of, Systematic systematic, PooledTest& sums) const {
    double together = 0, apart = 0, step = 0;
    for (size_t i = begin; i < end; ++i) {
      const PooledValue& value = values_[i];
      if (!value.counts) continue;
      const double g = effect_of(i), weighted = g / value.Variance();
      const double permitted = value.systematic + lean_ * value.sigma;
      const double deviation = systematic == Systematic::kChance ? std::hypot(value.sigma, permitted) : value.sigma;
      sums.agreement += weighted * value.off;
      sums.information += weighted * g;
      if (systematic == Systematic::kGranted) sums.granted += std::fabs(weighted) * permitted;
      together += std::fabs(weighted) * deviation;
      apart += weighted * weighted * value.rounding;
      step = std::max(step, std::fabs(weighted) * value.spacing / 3);
    }
    sums.variance += together * together + apart;
    sums.step = std::max(sums.step, together / std::numbers::pi + step);
  }

  const std::vector<PooledValue>& values_;
  const int64_t block_;
  const double lean_;  // of a deviation, in the mean
};

// Project out the golden values, so that a common scale error does not count as lost operand bits.
std::vector<double> WithoutGolden(const std::vector<PooledValue>& values, const std::vector<double>& effect) {
  double with = 0, of = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].counts) continue;
    with += effect[i] * values[i].golden / values[i].Variance();
    of += values[i].golden * values[i].golden / values[i].Variance();
  }
  std::vector<double> rest(values.size());
  for (size_t i = 0; i < values.size(); ++i) rest[i] = effect[i] - (of > 0 ? with / of * values[i].golden : 0);
  return rest;
}

PooledTest ComputeAnswer(const Effect& effect, const std::vector<PooledValue>& values, const Sums& asked,
                         const Contract& contract) {
  if (effect.kind == Effect::Kind::kConstant) {
    PooledTest one = asked.Of(
        effect.question, [&](size_t i) { return effect.values[i]; }, Systematic::kGranted);
    one.granted += LeastOfConstant(contract) * one.information;
    return one;
  }
  const std::vector<double> rest = WithoutGolden(values, effect.values);
  PooledTest one = asked.Of(
      effect.question, [&](size_t i) { return rest[i]; }, Systematic::kChance);
  one.granted += kLeastOfOperandBits * one.information;
  return one;
}

// Cases that differ in their number of rows have the first ones in common, as streams of random numbers begin alike.
uint32_t DataNumber(const Golden& golden) {
  const auto bits = std::bit_cast<uint64_t>(golden.value.empty() ? 0.0 : golden.value[0]);
  return static_cast<uint32_t>((bits * 0x9E3779B97F4A7C15) >> 32) | 1;
}

}  // namespace

std::vector<PooledTest> GatherPooled(const ElementJudge& judge, const Contract& contract, const Tensor& got,
                                     std::span<const Effect> effects) {
  std::vector<PooledTest> tests;
  const bool nearest = contract.RoundsToNearest() && std::isfinite(contract.math_ulp);
  if (!StatisticApplies(judge) || !nearest || judge.golden().exact) return tests;
  const StatisticModel& model = judge.bound().statistic;
  const double drift = DriftOf(judge);
  const std::vector<PooledValue> values = ReadPooledValues(judge, got);
  const Sums asked(values, BlockOf(judge), drift);
  // Results of one or two narrow numbers come again and again, in other cases too: they are not independent.
  const bool of_many = model.lean || model.shared;
  const auto add = [&](PooledTest one) {
    if (!(one.information > 0)) return;
    one.proves = of_many;
    one.data = DataNumber(judge.golden());
    tests.push_back(std::move(one));
  };
  if (of_many) {
    add(asked.Of(
        "factor", [&](size_t i) { return values[i].golden; }, Systematic::kGranted));
  }
  if (model.lean) {
    add(asked.Of(
        "lean", [&](size_t i) { return std::copysign(values[i].sigma, values[i].golden); }, Systematic::kGranted));
  }
  if (HasRoundings(judge)) add(RoundingsOf(values, BlockOf(judge), drift));
  if (HasOutputBits(judge)) add(OutputBitsOf(judge, got));
  for (const Effect& effect : effects) add(ComputeAnswer(effect, values, asked, contract));
  return tests;
}

}  // namespace assay
