// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/core/model/case_spec.h"
#include "harness/engine/cases/host_memory.h"
#include "tests/support/quiet_observer.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

PlannedCase Planned(const std::string& id) {
  PlannedCase planned;
  planned.spec = ParseId(id).value();
  return planned;
}

std::vector<PlannedCase> Planned(size_t count, const std::string& id) {
  return std::vector<PlannedCase>(count, Planned(id));
}

constexpr char kSmall[] = "softmax/f32/shape=4x8/fill=normal/seed=0";
constexpr char kTenMebibytes[] = "softmax/f32/shape=1024x1280/fill=normal/seed=0";  // 5 MiB in, 5 MiB out

std::vector<size_t> Sizes(const std::vector<Step>& steps) {
  std::vector<size_t> sizes;
  size_t begin = 0;
  for (const Step& step : steps) {
    EXPECT_EQ(step.begin, begin);  // all cases, in order
    begin = step.end;
    sizes.push_back(step.end - step.begin);
  }
  return sizes;
}

TEST(CaseGroups, HoldAllCasesInOrderAndNoMoreThanTheMost) {
  EXPECT_TRUE(GroupCases({}).empty());
  EXPECT_EQ(Sizes(GroupCases(Planned(2 * kMostCasesInStep + 1, kSmall))),
            (std::vector<size_t>{kMostCasesInStep, kMostCasesInStep, 1}));
}

TEST(CaseGroups, AreTogetherNoLargerThanACaseThatIsNotLarge) {
  static_assert(kLargeCaseBytes == 0x1p24);
  EXPECT_EQ(Sizes(GroupCases(Planned(3, kTenMebibytes))), (std::vector<size_t>{1, 1, 1}));
  std::vector<PlannedCase> cases = {Planned(kSmall), Planned(kTenMebibytes), Planned(kSmall), Planned(kTenMebibytes)};
  EXPECT_EQ(Sizes(GroupCases(cases)), (std::vector<size_t>{3, 1}));
}

TEST(CaseGroups, TakeTogetherNoMoreThanThereIs) {
  const std::vector<PlannedCase> cases = Planned(5, kSmall);
  const double one = BytesNeeded(cases[0].Bound()->problem, MemoryUse::kRun, "auto");
  EXPECT_DOUBLE_EQ(GroupCases(cases)[0].bytes, 5 * one);
  EXPECT_EQ(Sizes(GroupCases(cases, "auto", 2.5 * one)), (std::vector<size_t>{2, 2, 1}));
  EXPECT_EQ(Sizes(GroupCases(cases, "auto", 0)), (std::vector<size_t>(5, 1))) << "what is too large is so alone";
}

class Steps : public testing::Test {
 protected:
  Steps() { policy_.tier = "auto"; }

  const TemporaryFolder temporary_;
  RunFolder folder_ = RunFolder::Create(temporary_.Path("run")).value();
  QuietObserver observer_;
  const std::vector<Device> devices_;
  RunPolicy policy_;
  std::mt19937_64 random_;
  ResultStore results_{folder_, policy_.expectations, observer_};
};

TEST_F(Steps, OfFurtherRoundsAreTheCasesThatPassedInTheRoundBefore) {
  policy_.rounds = 4;
  Schedule schedule(Planned(3, kSmall), nullptr, devices_, policy_, random_);
  const std::optional<Step> first = schedule.Next(results_);
  ASSERT_TRUE(first && first->IsFirst());
  EXPECT_EQ(first->end, 3U);
  EXPECT_FALSE(schedule.NextAhead()) << "it is not known yet what passes";
  for (const size_t index : {2, 0}) schedule.TimeAgain({index, 0});
  std::set<size_t> cases;
  for (size_t done = 0; done < 2; ++done) {
    const std::optional<Step> step = schedule.Next(results_);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->round, 2);
    EXPECT_EQ(step->done, done);
    EXPECT_EQ(step->due, (std::vector<RecordPlace>{{step->begin, 0}}));
    cases.insert(step->begin);
  }
  EXPECT_EQ(cases, (std::set<size_t>{0, 2}));
  schedule.TimeAgain({2, 0});
  EXPECT_EQ(schedule.Next(results_)->round, 3);
  EXPECT_FALSE(schedule.Next(results_)) << "nothing passed in the third round";
}

TEST_F(Steps, OfFurtherPassesAreTheCasesWithResults) {
  policy_.repetition.passes = 3;
  Schedule schedule(Planned(3, kSmall), nullptr, devices_, policy_, random_);
  ASSERT_TRUE(schedule.Next(results_));
  Record record;
  record.implementation = "plain", record.verdict = "pass";
  results_.Restore({1, 0, 0}, record);
  record.verdict = "unsupported";
  results_.Restore({2, 0, 0}, record);
  for (int64_t pass = 2; pass <= 3; ++pass) {
    const std::optional<Step> step = schedule.Next(results_);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->pass, pass);
    EXPECT_EQ(step->begin, 1U);
  }
  EXPECT_FALSE(schedule.Next(results_));
}

}  // namespace
}  // namespace assay
