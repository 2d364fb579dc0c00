// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::HasSubstr;

std::vector<double> Around(double centre, size_t rounds) {
  std::vector<double> out;
  for (size_t i = 0; i < rounds; ++i) out.push_back(centre * (1 + 1e-3 * static_cast<double>(i)));
  return out;
}

TimedPair Pair(std::vector<double> base, std::vector<double> now, std::string not_comparable = "") {
  return {std::move(base), std::move(now), {}, std::move(not_comparable)};
}

TimeComparison CompareOne(const TimedPair& pair, TimedHow how) {
  return CompareTimes(std::vector<TimedPair>{pair}, how).at(0);
}

constexpr TimedHow kBoth[] = {TimedHow::kApart, TimedHow::kInTurns};

TEST(CompareTimes, SlowerFasterSameAndUnsure) {
  for (const TimedHow how : kBoth) {
    const auto verdict = [how](const TimedPair& pair) { return CompareOne(pair, how).verdict; };
    EXPECT_EQ(verdict(Pair(Around(1, 8), Around(1.1, 8))), TimeVerdict::kSlower);
    EXPECT_EQ(verdict(Pair(Around(1.1, 8), Around(1, 8))), TimeVerdict::kFaster);
    EXPECT_EQ(verdict(Pair(Around(1, 8), Around(1.03, 8))), TimeVerdict::kSame);  // told apart, but below 5 %
    EXPECT_EQ(verdict(Pair({1, 2, 3, 4}, {1.1, 1.9, 2.8, 4.1})), TimeVerdict::kUnsure);
  }
  const TimedPair drifting = Pair({1, 2, 3, 4, 5, 6, 7, 8}, {1.1, 2.21, 3.32, 4.41, 5.52, 6.63, 7.74, 8.81});
  EXPECT_EQ(CompareOne(drifting, TimedHow::kApart).verdict, TimeVerdict::kUnsure);
  EXPECT_EQ(CompareOne(drifting, TimedHow::kInTurns).verdict, TimeVerdict::kSlower);
}

TEST(CompareTimes, ASingleRoundAndOtherClocksCannotDecide) {
  for (const TimedHow how : kBoth) {
    TimeComparison time = CompareOne(Pair({1}, {100}), how);
    EXPECT_EQ(time.verdict, TimeVerdict::kUnsure);
    EXPECT_NEAR(time.ratio, 100, 1e-9);
    EXPECT_THAT(time.why, HasSubstr("single round"));
    time = CompareOne(Pair(Around(1, 9), Around(2, 9), "other clocks"), how);
    EXPECT_EQ(time.verdict, TimeVerdict::kUnsure);
    EXPECT_EQ(time.why, "other clocks");
    EXPECT_FALSE(time.p_slower);
  }
}

TEST(CompareTimes, MoreResultsNeedMoreRounds) {
  EXPECT_EQ(RoundsNeeded(1, TimedHow::kApart), 5u);    // 1 / C(2n, n) <= 0.01 / results
  EXPECT_EQ(RoundsNeeded(100, TimedHow::kApart), 8u);  // 1 / 12870; seven give 1 / 3432
  EXPECT_EQ(RoundsNeeded(1, TimedHow::kInTurns), 8u);  // 2^-n <= 0.005 / results
  EXPECT_EQ(RoundsNeeded(100, TimedHow::kInTurns), 15u);
  for (const TimedHow how : kBoth) {
    const size_t enough = RoundsNeeded(100, how);
    std::vector<TimedPair> pairs(100, Pair(Around(1, enough - 1), Around(1, enough - 1)));
    pairs[3].now = Around(1.5, enough - 1);
    EXPECT_EQ(CompareTimes(pairs, how)[3].verdict, TimeVerdict::kUnsure);
    for (TimedPair& pair : pairs) pair.base = Around(1, enough), pair.now = Around(1, enough);
    pairs[3].now = Around(1.5, enough);
    EXPECT_EQ(CompareTimes(pairs, how)[3].verdict, TimeVerdict::kSlower);
    EXPECT_EQ(CompareTimes(pairs, how)[4].verdict, TimeVerdict::kSame);
  }
}

TEST(CompareTimes, ALastRoundOfOneBuildAloneIsLeftAside) {
  TimedPair pair = Pair(Around(1, 9), Around(1.1, 9));
  pair.base.push_back(1000);
  const TimeComparison time = CompareOne(pair, TimedHow::kInTurns);
  EXPECT_EQ(time.verdict, TimeVerdict::kSlower);
  EXPECT_EQ(time.base_rounds, 9u);
  EXPECT_EQ(CompareOne(pair, TimedHow::kApart).base_rounds, 10u);
}

TEST(CompareTimes, RoundsThatSlicesDoNotTellOfDoNotCount) {
  TimedPair pair = Pair(Around(1, 9), Around(2, 9));
  pair.differences = {std::log(2.0)};
  TimeComparison time = CompareOne(pair, TimedHow::kInTurns);
  EXPECT_THAT(time.why, HasSubstr("single round"));
  EXPECT_FALSE(time.p_slower);
  pair.differences.assign(4, std::log(2.0));
  time = CompareOne(pair, TimedHow::kInTurns);
  EXPECT_EQ(time.base_rounds, 4u);
  EXPECT_EQ(time.new_rounds, 4u);
  EXPECT_EQ(time.verdict, TimeVerdict::kUnsure);  // 2^-4 is above 0.5 %
}

TEST(CompareTimes, SlicesTellMoreThanTheMediansOfTheirRound) {
  // A slow spell over most of the base's slices, then over most of the new build's; the pairs agree on 10 %.
  const auto differences = SliceDifferences("1/2/2/2/1,1/1/2/2", "1.1/2.2/2.2/1.1/1.1,1.1/1.1/2.2/2.2/9");
  ASSERT_EQ(differences.size(), 2u);
  for (const double d : differences) EXPECT_NEAR(d, std::log(1.1), 1e-12);
  for (const char* text : {"", "1/,1", "1/x,1/1", "0/1,1"}) EXPECT_TRUE(SliceDifferences("1/1,1/1", text).empty());
  EXPECT_EQ(SlicesText(std::vector<double>{1.23456e-6, 2}), "1.235e-06/2");
  TimedPair pair = Pair(Around(1, 9), Around(2, 9));
  pair.differences.assign(9, 0.0);
  EXPECT_NEAR(CompareOne(pair, TimedHow::kInTurns).ratio, 1, 1e-12);
  EXPECT_NEAR(CompareOne(pair, TimedHow::kApart).ratio, 2, 1e-2);
}

TEST(CompareTimes, AGroupIsItsTypicalResult) {
  std::vector<TimedPair> pairs(5, Pair(Around(1, 9), Around(1.1, 9)));
  pairs[0].now = Around(1, 9);
  pairs[1].now = Around(7, 9);
  pairs[4].not_comparable = "other clocks";
  const std::vector<std::vector<size_t>> groups{{0, 1, 2, 3, 4}, {0, 2}, {4}};
  const auto times = CompareGroups(pairs, groups);
  EXPECT_EQ(times[0].verdict, TimeVerdict::kSlower);
  EXPECT_NEAR(times[0].ratio, 1.1, 1e-3);
  EXPECT_EQ(times[0].base_rounds, 9u);
  EXPECT_NEAR(times[1].ratio, std::sqrt(1.1), 1e-3);  // the median of two is their middle
  EXPECT_EQ(times[1].verdict, TimeVerdict::kSame);    // 4.9 %
  EXPECT_EQ(times[2].verdict, TimeVerdict::kUnsure);
  EXPECT_FALSE(times[2].p_slower);
}

TEST(CompareTimes, RoundsAreReadAsTheyWereWritten) {
  const std::vector<double> seconds{1.0 / 3, 2e-9, 5};
  EXPECT_EQ(ParseRounds(RoundsText(seconds)), seconds);
  for (const char* text : {"", "1,", "1,x", "1,-2", "1,0", "nan"}) EXPECT_TRUE(ParseRounds(text).empty()) << text;
}

}  // namespace
}  // namespace assay
