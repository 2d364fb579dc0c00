// SPDX-License-Identifier: Apache-2.0
#include "harness/perf/compare_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "harness/perf/rank_sum.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::vector<double> Around(double centre, size_t rounds) {
  std::vector<double> out;
  for (size_t i = 0; i < rounds; ++i) out.push_back(centre * (1 + 1e-3 * static_cast<double>(i)));
  return out;
}

TimeVerdict VerdictOf(const TimedPair& pair) {
  return CompareTimes(std::vector<TimedPair>{pair}).at(0).verdict;
}

TEST(CompareTimes, SlowerFasterSameAndUnsure) {
  EXPECT_EQ(VerdictOf({Around(1, 8), Around(1.1, 8), ""}), TimeVerdict::kSlower);
  EXPECT_EQ(VerdictOf({Around(1.1, 8), Around(1, 8), ""}), TimeVerdict::kFaster);
  EXPECT_EQ(VerdictOf({Around(1, 8), Around(1.001, 8), ""}), TimeVerdict::kSame);
  EXPECT_EQ(VerdictOf({Around(1, 8), Around(1.03, 8), ""}), TimeVerdict::kSame);  // told apart, but below 5 %
  EXPECT_EQ(VerdictOf({{1, 2, 3, 4}, {1.1, 2.2, 2.8, 4.1}, ""}), TimeVerdict::kUnsure);
}

TEST(CompareTimes, ASingleRoundAndOtherClocksCannotDecide) {
  auto time = CompareTimes(std::vector<TimedPair>{{{1}, {100}, ""}}).at(0);
  EXPECT_EQ(time.verdict, TimeVerdict::kUnsure);
  EXPECT_NEAR(time.ratio, 100, 1e-9);
  EXPECT_THAT(time.why, HasSubstr("single round"));
  time = CompareTimes(std::vector<TimedPair>{{Around(1, 9), Around(2, 9), "other clocks"}}).at(0);
  EXPECT_EQ(time.verdict, TimeVerdict::kUnsure);
  EXPECT_EQ(time.why, "other clocks");
  EXPECT_FALSE(time.p_slower);
}

TEST(CompareTimes, MoreResultsNeedMoreRounds) {
  // 1 / C(2n, n) <= 0.01 / results
  EXPECT_EQ(RoundsNeeded(1), 5u);    // 1 / 252; four give 1 / 70
  EXPECT_EQ(RoundsNeeded(100), 8u);  // 1 / 12870; seven give 1 / 3432
  std::vector<TimedPair> pairs(100, TimedPair{Around(1, 7), Around(1, 7), ""});
  pairs[3].now = Around(1.5, 7);
  EXPECT_EQ(CompareTimes(pairs)[3].verdict, TimeVerdict::kUnsure);
  for (TimedPair& pair : pairs) pair.base = Around(1, 8), pair.now = Around(1, 8);
  pairs[3].now = Around(1.5, 8);
  EXPECT_EQ(CompareTimes(pairs)[3].verdict, TimeVerdict::kSlower);
  EXPECT_EQ(CompareTimes(pairs)[4].verdict, TimeVerdict::kSame);
}

TEST(CompareTimes, RoundsAreReadAsTheyWereWritten) {
  const std::vector<double> seconds{1.0 / 3, 2e-9, 5};
  EXPECT_EQ(ParseRounds(RoundsText(seconds)), seconds);
  for (const char* text : {"", "1,", "1,x", "1,-2", "1,0", "nan"}) EXPECT_TRUE(ParseRounds(text).empty()) << text;
}

// ---- Simulated runs: times are lognormal, and every result of a round shares the machine's drift in it. ----

struct Noise {
  double result = 0;     // of one result in one round, standard deviation of the logarithm
  double drift = 0;      // of a round, shared by all its results
  bool in_turns = true;  // both builds in the same rounds, or each in its own
};

class SimulatedRuns {
 public:
  SimulatedRuns(uint64_t seed, size_t results, size_t rounds, Noise noise)
      : random_(seed), results_(results), rounds_(rounds), noise_(noise) {}

  // One comparison of two builds; the first result of the new one is slower by this factor.
  std::vector<TimedPair> Next(double slower = 1) {
    std::vector<TimedPair> pairs(results_);
    for (size_t round = 0; round < rounds_; ++round) {
      const double base = normal_(random_) * noise_.drift,
                   now = noise_.in_turns ? base : normal_(random_) * noise_.drift;
      for (size_t i = 0; i < results_; ++i) {
        pairs[i].base.push_back(std::exp(base + normal_(random_) * noise_.result));
        pairs[i].now.push_back(std::exp(now + normal_(random_) * noise_.result) * (i == 0 ? slower : 1));
      }
    }
    return pairs;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  size_t results_, rounds_;
  Noise noise_;
};

bool AnySlower(const std::vector<TimedPair>& pairs) {
  const auto times = CompareTimes(pairs);
  return std::any_of(times.begin(), times.end(), [](const auto& t) { return t.verdict == TimeVerdict::kSlower; });
}

// What a rule without control over the whole run would report.
bool AnySlowerPerResult(const std::vector<TimedPair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [](const auto& p) { return MannWhitney(p.base, p.now).p_greater < 0.01; });
}

TEST(CompareTimesSimulation, AtMostOneInAHundredRunsOfEqualBuildsReportsAnySlower) {
  constexpr int kRuns = 1000;
  int uncontrolled = 0;
  for (const Noise noise :
       {Noise{0.02, 0.03, true}, Noise{0.02, 0.03, false}, Noise{0.15, 0.1, true}, Noise{0.15, 0.1, false}}) {
    SimulatedRuns runs(11, 40, 10, noise);
    int alarms = 0;
    for (int run = 0; run < kRuns; ++run) {
      const auto pairs = runs.Next();
      alarms += AnySlower(pairs);
      uncontrolled += AnySlowerPerResult(pairs);
    }
    EXPECT_LE(alarms, kRuns / 100) << noise.result << (noise.in_turns ? " in turns" : " apart");
  }
  EXPECT_GT(uncontrolled, kRuns / 4);  // of four times as many: the simulation does tempt
}

TEST(CompareTimesSimulation, TenPercentAreFoundInNineteenOfTwentyRunsInTurns) {
  constexpr int kRuns = 1000;
  SimulatedRuns runs(12, 40, 12, {0.02, 0.03, true});
  int found = 0, others = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto times = CompareTimes(runs.Next(1.10));
    found += times[0].verdict == TimeVerdict::kSlower;
    others +=
        std::count_if(times.begin() + 1, times.end(), [](const auto& t) { return t.verdict == TimeVerdict::kSlower; });
  }
  EXPECT_GE(found, kRuns * 95 / 100);
  EXPECT_LE(others, kRuns / 100);
}

}  // namespace
}  // namespace assay
