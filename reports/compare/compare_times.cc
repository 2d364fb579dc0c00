// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/statistics.h"
#include "harness/core/base/text.h"
#include "reports/compare/rank_sum.h"
#include "reports/compare/signed_rank.h"

namespace assay {
namespace {

constexpr double kSameConfidence = 0.9;  // both one-sided tests of equivalence at 5 %

std::vector<double> Logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(v));
  return logs;
}

constexpr const char* kScatter = "the rounds are too few or scatter too much";

// The chance of any false alarm in one direction, of one kind of hypotheses.
double RateOf(TimedHow how) {
  return how == TimedHow::kInTurns ? kFalseAlarmRate / 2 : kFalseAlarmRate;
}

struct Tested {
  ShiftEstimate shift;
  double p_slower = 1, p_faster = 1;
};

Tested TestApart(const std::vector<double>& base, const std::vector<double>& now) {
  const RankSumTest test = MannWhitney(base, now);
  return {EstimateShift(base, now, kSameConfidence), test.p_greater, test.p_less};
}

Tested TestInTurns(const std::vector<double>& differences) {
  const SignedRankTest test = SignedRanks(differences);
  return {EstimateCentre(differences, kSameConfidence), test.p_greater, test.p_less};
}

// An interrupted run may have the last round of one build only.
std::vector<double> Differences(const std::vector<double>& base, const std::vector<double>& now) {
  std::vector<double> out;
  for (size_t i = 0; i < std::min(base.size(), now.size()); ++i) out.push_back(now[i] - base[i]);
  return out;
}

TimeComparison Compared(const Tested& tested, const std::string& not_comparable, size_t base_rounds,
                        size_t new_rounds) {
  TimeComparison out;
  out.verdict = TimeVerdict::kUnsure;
  out.base_rounds = base_rounds, out.new_rounds = new_rounds;
  const ShiftEstimate& shift = tested.shift;
  out.ratio = std::exp(shift.shift), out.low = std::exp(shift.low), out.high = std::exp(shift.high);
  out.bounded = shift.bounded;
  if (!not_comparable.empty()) {
    out.why = not_comparable;
  } else if (std::min(base_rounds, new_rounds) < 2) {
    out.why = "a single round cannot decide: assay run --rounds N";
  } else {
    out.p_slower = tested.p_slower, out.p_faster = tested.p_faster;
  }
  return out;
}

std::vector<double> DifferencesOf(const TimedPair& pair) {
  return pair.differences.empty() ? Differences(Logarithms(pair.base), Logarithms(pair.now)) : pair.differences;
}

TimeComparison Estimate(const TimedPair& pair, TimedHow how) {
  if (how == TimedHow::kApart) {
    return Compared(TestApart(Logarithms(pair.base), Logarithms(pair.now)), pair.not_comparable, pair.base.size(),
                    pair.now.size());
  }
  // Rounds that have a difference: slices may tell of fewer than there are medians.
  const std::vector<double> differences = DifferencesOf(pair);
  return Compared(TestInTurns(differences), pair.not_comparable, differences.size(), differences.size());
}

// Compares the median of the group's members in each round that at least half of the members have.
TimeComparison EstimateGroup(std::span<const TimedPair> pairs, const std::vector<size_t>& group) {
  std::vector<std::vector<double>> by_round;
  size_t members = 0;
  for (const size_t i : group) {
    if (!pairs[i].not_comparable.empty()) continue;
    ++members;
    const auto differences = DifferencesOf(pairs[i]);
    if (by_round.size() < differences.size()) by_round.resize(differences.size());
    for (size_t round = 0; round < differences.size(); ++round) by_round[round].push_back(differences[round]);
  }
  std::vector<double> medians;
  for (const auto& round : by_round) {
    if (2 * round.size() >= members) medians.push_back(Quantile(round, 0.5));
  }
  if (medians.empty()) return Compared({}, "no result of it can be compared", 0, 0);
  return Compared(TestInTurns(medians), "", medians.size(), medians.size());
}

std::vector<double> ParseTimes(std::string_view text, char separator) {
  std::vector<double> seconds;
  if (text.empty()) return seconds;
  for (const std::string_view part : Split(text, separator)) {
    const auto value = ParseNumber<double>(part);
    if (!value || !std::isfinite(*value) || *value <= 0) return {};
    seconds.push_back(*value);
  }
  return seconds;
}

using Rule = std::vector<bool> (*)(std::span<const double> p, double rate);

void Decide(std::vector<TimeComparison>& times, Rule rule, double rate, double minimum_effect) {
  std::vector<double> p_slower, p_faster;
  for (const TimeComparison& time : times) {
    if (!time.p_slower) continue;
    p_slower.push_back(*time.p_slower);
    p_faster.push_back(*time.p_faster);
  }
  const auto slower = rule(p_slower, rate), faster = rule(p_faster, rate);
  const double limit = 1 + minimum_effect;
  size_t tested = 0;
  for (TimeComparison& time : times) {
    if (!time.p_slower) continue;
    const size_t k = tested++;
    if (slower[k] && time.ratio >= limit) {
      time.verdict = TimeVerdict::kSlower;
    } else if (faster[k] && time.ratio <= 1 / limit) {
      time.verdict = TimeVerdict::kFaster;
    } else if (time.bounded && time.low > 1 / limit && time.high < limit) {
      time.verdict = TimeVerdict::kSame;
    } else {
      time.why = kScatter;
    }
  }
}

}  // namespace

std::string RoundsText(std::span<const double> seconds) {
  return fmt::format("{}", fmt::join(seconds, ","));
}

std::vector<double> ParseRounds(std::string_view text) {
  return ParseTimes(text, ',');
}

std::string SlicesText(std::span<const double> seconds) {
  return fmt::format("{:.4g}", fmt::join(seconds, "/"));
}

std::vector<double> SliceDifferences(std::string_view base, std::string_view now) {
  if (base.empty() || now.empty()) return {};
  const auto base_rounds = Split(base, ','), now_rounds = Split(now, ',');
  std::vector<double> out;
  for (size_t round = 0; round < std::min(base_rounds.size(), now_rounds.size()); ++round) {
    const auto a = ParseTimes(base_rounds[round], '/'), b = ParseTimes(now_rounds[round], '/');
    if (a.empty() || b.empty()) return {};
    out.push_back(Quantile(Differences(Logarithms(a), Logarithms(b)), 0.5));
  }
  return out;
}

std::vector<TimeComparison> CompareTimes(std::span<const TimedPair> pairs, TimedHow how, double minimum_effect) {
  std::vector<TimeComparison> out;
  for (const TimedPair& pair : pairs) out.push_back(Estimate(pair, how));
  Decide(out, BenjaminiHochberg, RateOf(how), minimum_effect);
  return out;
}

std::vector<TimeComparison> CompareGroups(std::span<const TimedPair> pairs, std::span<const std::vector<size_t>> groups,
                                          double minimum_effect) {
  std::vector<TimeComparison> out;
  for (const std::vector<size_t>& group : groups) out.push_back(EstimateGroup(pairs, group));
  Decide(out, Holm, RateOf(TimedHow::kInTurns), minimum_effect);
  return out;
}

size_t RoundsNeeded(size_t results, TimedHow how) {
  const auto smallest = [how](size_t n) {
    return how == TimedHow::kInTurns ? SmallestSignedRankP(n) : SmallestRankSumP(n, n);
  };
  size_t rounds = 2;
  while (static_cast<double>(results) * smallest(rounds) > RateOf(how)) ++rounds;
  return rounds;
}

}  // namespace assay
