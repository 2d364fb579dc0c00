// SPDX-License-Identifier: Apache-2.0
#include "harness/perf/compare_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/base/text.h"
#include "harness/perf/rank_sum.h"

namespace assay {
namespace {

constexpr double kSameConfidence = 0.9;  // both one-sided tests of equivalence at 5 %

std::vector<double> Logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(v));
  return logs;
}

bool MayDecide(const TimedPair& pair) {
  return pair.not_comparable.empty() && pair.base.size() > 1 && pair.now.size() > 1;
}

TimeComparison Estimate(const TimedPair& pair) {
  TimeComparison out;
  out.verdict = TimeVerdict::kUnsure;
  out.base_rounds = pair.base.size(), out.new_rounds = pair.now.size();
  const auto base = Logarithms(pair.base), now = Logarithms(pair.now);
  const ShiftEstimate shift = EstimateShift(base, now, kSameConfidence);
  out.ratio = std::exp(shift.shift), out.low = std::exp(shift.low), out.high = std::exp(shift.high);
  if (!pair.not_comparable.empty()) {
    out.why = pair.not_comparable;
  } else if (!MayDecide(pair)) {
    out.why = "a single round cannot decide: assay run --rounds N";
  } else {
    const RankSumTest test = MannWhitney(base, now);
    out.p_slower = test.p_greater, out.p_faster = test.p_less;
  }
  return out;
}

}  // namespace

std::string RoundsText(std::span<const double> seconds) {
  return fmt::format("{}", fmt::join(seconds, ","));
}

std::vector<double> ParseRounds(std::string_view text) {
  std::vector<double> seconds;
  if (text.empty()) return seconds;
  for (const std::string_view part : Split(text, ',')) {
    const auto value = ParseNumber<double>(part);
    if (!value || !std::isfinite(*value) || *value <= 0) return {};
    seconds.push_back(*value);
  }
  return seconds;
}

std::vector<TimeComparison> CompareTimes(std::span<const TimedPair> pairs, double minimum_effect) {
  std::vector<TimeComparison> out;
  std::vector<double> p_slower, p_faster;
  for (const TimedPair& pair : pairs) {
    out.push_back(Estimate(pair));
    if (!out.back().p_slower) continue;
    p_slower.push_back(*out.back().p_slower);
    p_faster.push_back(*out.back().p_faster);
  }
  const auto slower = BenjaminiHochberg(p_slower, kFalseAlarmRate),
             faster = BenjaminiHochberg(p_faster, kFalseAlarmRate);
  const double limit = 1 + minimum_effect;
  size_t tested = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    TimeComparison& time = out[i];
    if (!time.p_slower) continue;
    const size_t k = tested++;
    if (slower[k] && time.ratio >= limit) {
      time.verdict = TimeVerdict::kSlower;
    } else if (faster[k] && time.ratio <= 1 / limit) {
      time.verdict = TimeVerdict::kFaster;
    } else if (time.low < time.high && time.low > 1 / limit && time.high < limit) {
      time.verdict = TimeVerdict::kSame;
    } else {
      time.why = "the rounds are too few or scatter too much";
    }
  }
  return out;
}

size_t RoundsNeeded(size_t results) {
  size_t rounds = 2;
  while (static_cast<double>(results) * SmallestRankSumP(rounds, rounds) > kFalseAlarmRate) ++rounds;
  return rounds;
}

}  // namespace assay
