// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/offers.h"

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

class OffersOf : public EngineTest {
 protected:
  Offers::Answer Ask(const LayoutVariant& layout = {}) { return offers_.Find(device_, data_.problem, layout); }
  size_t Questions() const { return session_->CallsOf(Asked::kQuery).size(); }

  Offers offers_;
};

TEST_F(OffersOf, OfADeviceAreAskedForOnce) {
  ASSERT_TRUE(Ask());
  session_->offer = Offering({{"other", "f32"}});
  const auto again = Ask();
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(again->at(0).name, "plain");
  EXPECT_EQ(Questions(), 1U);
}

TEST_F(OffersOf, OfEachLayoutAreAskedForOnTheirOwn) {
  session_->offer = [](const Problem&, const LayoutVariant& layout) {
    return std::vector<ImplementationInfo>{{layout.row_padding > 0 ? "padded" : "dense", "f32"}};
  };
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Ask().value().at(0).name, "dense");
    EXPECT_EQ(Ask({.element_offset = 1, .row_padding = 3}).value().at(0).name, "padded");
  }
  EXPECT_EQ(Questions(), 2U);
}

TEST_F(OffersOf, OfEachDeviceAndCaseAreAskedForOnTheirOwn) {
  const auto session = std::make_shared<FakeSession>();
  const Device other = FakeDevice("other", session);
  const PreparedCase data = DataOf(Planned("reduce/f32/shape=4x8,axes=0/fill=normal/seed=0"));
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(Ask());
    ASSERT_TRUE(offers_.Find(device_, data.problem));
    ASSERT_TRUE(offers_.Find(other, data_.problem));
  }
  EXPECT_EQ(Questions(), 2U);
  EXPECT_EQ(session->calls.size(), 1U);
}

// An installed plugin and one given by --plugin can have the same name.
TEST_F(OffersOf, OfPluginsOfOneNameAreAskedForOnTheirOwn) {
  const auto session = std::make_shared<FakeSession>();
  session->offer = Offering({{"loops", "f32"}});
  Device other = FakeDevice(device_.backend, session);
  other.selector = device_.selector;
  other.path = "other.so";
  EXPECT_EQ(Ask().value().at(0).name, "plain");
  EXPECT_EQ(offers_.Find(other, data_.problem).value().at(0).name, "loops");
}

TEST_F(OffersOf, WhatIsUnsupportedStaysSo) {
  session_->offer = Offering({});
  for (int time = 0; time < 2; ++time) {
    const auto answer = Ask();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, FailureKind::kUnsupported);
  }
  EXPECT_EQ(Questions(), 1U);
}

// The next worker may answer.
TEST_F(OffersOf, AnyOtherFailureIsForgotten) {
  for (const FailureKind kind :
       {FailureKind::kCrash, FailureKind::kTimeout, FailureKind::kUnavailable, FailureKind::kError}) {
    Offers offers;
    session_->behave = Doing({.fails = kind}, [](const FakeCall&) { return true; });
    const auto failed = offers.Find(device_, data_.problem);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, kind);
    session_->behave = Doing({}, [](const FakeCall&) { return false; });
    EXPECT_TRUE(offers.Find(device_, data_.problem)) << Name(kind);
  }
}

}  // namespace
}  // namespace assay::test
