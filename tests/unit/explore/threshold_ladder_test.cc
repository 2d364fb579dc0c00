// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/threshold_ladder.h"

#include <gmock/gmock.h>

#include <set>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Sign = std::function<PlansAt(int64_t)>;

PlansAt OnePlan(const PlanSignature& plan) {
  return {{{"b", "d", "i"}, plan}};
}

// A ladder up to `largest`, of which each extent is known at once.
class Climb {
 public:
  explicit Climb(int64_t largest, int64_t step = 1)
      : ladder_([=](int64_t e) { return e % step == 0 && e <= largest; }, [=](int64_t e) { return e > largest; }) {}

  std::vector<Threshold> Find(const Sign& sign) {
    while (const auto extent = ladder_.Next()) {
      EXPECT_TRUE(tried_.insert(*extent).second) << *extent << " twice";
      ladder_.SetPlans(*extent, sign(*extent));
    }
    return ladder_.FindThresholds();
  }
  const std::set<int64_t>& tried() const { return tried_; }
  ThresholdLadder& ladder() { return ladder_; }

 private:
  ThresholdLadder ladder_;
  std::set<int64_t> tried_;
};

TEST(ThresholdLadder, ClimbsPowersOfTwoTheirNeighboursAndTheLargest) {
  Climb climb(100);
  EXPECT_THAT(climb.Find([](int64_t) { return OnePlan({.kernel = "k"}); }), IsEmpty());
  EXPECT_THAT(climb.tried(), ElementsAre(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100));
  EXPECT_TRUE(climb.ladder().IsComplete());
}

TEST(ThresholdLadder, HalvesBetweenStepsThatDifferUntilTheyAreNeighbours) {
  Climb climb(1 << 20);
  const auto found = climb.Find([](int64_t e) { return OnePlan({.kernel = e < 12289 ? "narrow" : "wide"}); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before, 12288);
  EXPECT_EQ(found[0].after, 12289);
  EXPECT_THAT(found[0].changes, ElementsAre(PlanChange::kKernel));
  EXPECT_FALSE(found[0].is_open);
  EXPECT_LT(climb.tried().size(), 80u);
}

TEST(ThresholdLadder, FindsSeveralBetweenTwoSteps) {
  Climb climb(1000);
  const auto found = climb.Find([](int64_t e) {
    PlansAt plans = OnePlan({.kernel = e < 600 ? "a" : "b", .verdict = e < 700 ? "pass" : "mismatch"});
    if (e > 800) plans[{"b", "d", "other"}] = {};
    return plans;
  });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].after, 600);
  EXPECT_EQ(found[1].after, 700);
  EXPECT_THAT(found[1].changes, ElementsAre(PlanChange::kVerdict));
  EXPECT_EQ(found[2].after, 801);
  EXPECT_FALSE(found[2].was);
  EXPECT_THAT(found[2].changes, ElementsAre(PlanChange::kOffer));
}

TEST(ThresholdLadder, TakesCasesBesideAMiddleThatIsNone) {
  Climb climb(4096, 3);  // no power of two is a case
  const auto found = climb.Find([](int64_t e) { return OnePlan({.kernel = e < 1000 ? "a" : "b"}); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before, 999);
  EXPECT_EQ(found[0].after, 1002);
  EXPECT_FALSE(found[0].is_open);
}

TEST(ThresholdLadder, SaysWhatItDidNotNarrow) {
  ThresholdLadder ladder([](int64_t) { return true; }, [](int64_t e) { return e > 64; });
  for (int i = 0; i < 20; ++i) {
    const auto extent = ladder.Next();
    if (extent && *extent < 60) ladder.SetPlans(*extent, OnePlan({.kernel = *extent < 24 ? "a" : "b"}));
  }
  ladder.SetPlans(64, OnePlan({.kernel = "c"}));
  EXPECT_TRUE(ladder.IsWaiting());
  const auto found = ladder.FindThresholds();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[0].is_open);
  EXPECT_EQ(found[1].before, 33);
  EXPECT_TRUE(found[1].is_open);
  EXPECT_FALSE(ladder.IsComplete());
}

TEST(ThresholdLadder, GivesUpKernelsThatDifferEverywhere) {
  Climb climb(1 << 20);
  climb.Find([](int64_t e) { return OnePlan({.kernel = std::to_string(e)}); });
  EXPECT_EQ(climb.tried().size(), static_cast<size_t>(ThresholdLadder::kMostTried));
  EXPECT_FALSE(climb.ladder().IsComplete());
}

TEST(ThresholdLadder, KnowsWhereNoBackendTakesAnything) {
  Climb climb(1 << 20);
  EXPECT_TRUE(climb.ladder().IsTaken());
  climb.Find([](int64_t) { return PlansAt(); });
  EXPECT_FALSE(climb.ladder().IsTaken());
}

TEST(ThresholdLadder, BitsChangeWhereBothAreKnownAndInconclusiveIsNoFailure) {
  const PlanSignature pass{.verdict = "pass", .bits = "1"}, other{.verdict = "inconclusive", .bits = "2"};
  const PlanSignature unknown{.verdict = "crash"};
  EXPECT_THAT(ListPlanChanges(&pass, &other), ElementsAre(PlanChange::kBits));
  EXPECT_THAT(ListPlanChanges(&pass, &unknown), ElementsAre(PlanChange::kVerdict));
  EXPECT_THAT(ListPlanChanges(&pass, nullptr), ElementsAre(PlanChange::kOffer));
  EXPECT_THAT(ListPlanChanges(nullptr, nullptr), IsEmpty());
}

TEST(ThresholdLadder, TimesChangeBeyondWhatTheWorkExplains) {
  const auto at = [](double seconds, double work) { return PlanSignature{.seconds = seconds, .work = work}; };
  const auto changes = [](const PlanSignature& was, const PlanSignature& is) {
    return ListPlanChanges(&was, &is).size();
  };
  EXPECT_EQ(changes(at(1e-4, 1), at(2e-4, 2)), 0u) << "twice the work";
  EXPECT_EQ(changes(at(1e-4, 1), at(4e-4, 2)), 1u);
  EXPECT_EQ(changes(at(1e-4, 1), at(1.6e-4, 1)), 1u);
  EXPECT_EQ(changes(at(1e-4, 1), at(0.5e-4, 2)), 1u) << "faster than before";
  EXPECT_EQ(changes(at(1e-6, 1), at(9e-6, 1)), 0u) << "too short";
  EXPECT_EQ(changes(at(0, 1), at(1e-4, 1)), 0u) << "not measured";
}

TEST(ThresholdLadder, AFasterExecutionTakesAJumpBack) {
  Climb climb(64);
  ASSERT_EQ(climb.Find([](int64_t e) { return OnePlan({.seconds = e >= 40 ? 9e-4 : 1e-4, .work = 1}); }).size(), 1u);
  climb.ladder().AddSeconds(39, {"b", "d", "i"}, 8e-4);
  EXPECT_EQ(climb.ladder().FindThresholds().size(), 1u) << "the fastest one counts";
  climb.ladder().AddSeconds(40, {"b", "d", "i"}, 1e-4);
  EXPECT_NE(climb.ladder().FindThresholds().front().after, 40);
}

}  // namespace
}  // namespace assay
