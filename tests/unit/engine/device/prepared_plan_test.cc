// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/prepared_plan.h"

#include <optional>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

class ThePlanOf : public EngineTest {
 protected:
  PreparedPlan Make() { return PreparedPlan::Make(device_, data_.problem, "plain").value(); }
  void ExpectReleased(int times) const {
    EXPECT_EQ(session_->released, times);
    EXPECT_EQ(session_->released_twice, 0);
  }
};

TEST_F(ThePlanOf, ADeviceIsReleasedWhenItGoes) {
  {
    const PreparedPlan plan = Make();
    EXPECT_EQ(session_->open_plans(), 1U);
    EXPECT_EQ(plan.seconds(), 0.25);
  }
  ExpectReleased(1);
}

TEST_F(ThePlanOf, ADeviceIsReleasedOnceThoughAskedTwice) {
  {
    PreparedPlan plan = Make();
    plan.Release();
    ExpectReleased(1);
    plan.Release();
  }
  ExpectReleased(1);
}

TEST_F(ThePlanOf, ADeviceThatWasMovedIsReleasedByItsNewOwnerAlone) {
  {
    std::optional<PreparedPlan> kept;
    {
      PreparedPlan plan = Make();
      kept = std::move(plan);
    }
    ExpectReleased(0);
    const PreparedPlan last(*std::move(kept));
    kept.reset();
    ExpectReleased(0);
    EXPECT_TRUE(last.Execute(data_.inputs, Prefill::kSentinel));
  }
  ExpectReleased(1);
}

TEST_F(ThePlanOf, ADeviceThatIsAssignedToIsReleasedToo) {
  {
    PreparedPlan plan = Make();
    plan = Make();
    plan = Make();
  }
  ExpectReleased(3);
  ExpectNoPlanLeft();
}

TEST_F(ThePlanOf, ADeviceThatDiedIsReleasedInVain) {
  {
    const PreparedPlan plan = Make();
    session_->Restart();
  }
  ExpectReleased(0);
  EXPECT_EQ(session_->lost, 1);
}

TEST_F(ThePlanOf, ADeviceThatRefusesIsNone) {
  session_->behave = DoingAt({.fails = FailureKind::kOutOfMemory}, Asked::kPrepare, 0);
  const auto plan = PreparedPlan::Make(device_, data_.problem, "plain");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, FailureKind::kOutOfMemory);
  ExpectReleased(0);
}

}  // namespace
}  // namespace assay::test
