// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/hidden_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay {
namespace {

std::vector<PlannedCase> Visible() {
  PlanOptions options;
  options.cases = {"softmax/f32/shape=4x8/fill=normal/seed=0", "softmax/f32/shape=64x256/fill=normal/seed=0"};
  return PlanCases(options)->selection.cases;
}

std::vector<std::string> IdsOf(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> ids;
  for (const PlannedCase& planned : cases) ids.push_back(planned.spec.Id());
  return ids;
}

GeneratedSettings Settings(uint64_t secret) {
  return {.ops = {OperatorRegistry::Global().Find("softmax")},
          .secret = secret,
          .cases = 12,
          .is_taken = [](const PlannedCase&) { return true; }};
}

TEST(HiddenCases, FollowFromTheSecretAlone) {
  const auto visible = Visible();
  EXPECT_EQ(IdsOf(WithSecretSeeds(visible, 7)), IdsOf(WithSecretSeeds(visible, 7)));
  EXPECT_NE(IdsOf(WithSecretSeeds(visible, 7)), IdsOf(WithSecretSeeds(visible, 8)));
  EXPECT_EQ(IdsOf(GenerateCases(Settings(7))), IdsOf(GenerateCases(Settings(7))));
  EXPECT_NE(IdsOf(GenerateCases(Settings(7))), IdsOf(GenerateCases(Settings(8))));
}

TEST(HiddenCases, OtherDataOfTheSameShapes) {
  auto visible = Visible();
  visible[1].requirement = "acc=f64";
  const auto hidden = WithSecretSeeds(visible, 7);
  ASSERT_EQ(hidden.size(), visible.size());
  for (size_t i = 0; i < hidden.size(); ++i) {
    EXPECT_NE(hidden[i].spec.seed, visible[i].spec.seed);
    CaseSpec same = hidden[i].spec;
    same.seed = visible[i].spec.seed;
    EXPECT_EQ(same, visible[i].spec);
    EXPECT_EQ(hidden[i].requirement, visible[i].requirement);
    EXPECT_EQ(hidden[i].Bound()->problem.spec.seed, hidden[i].spec.seed);
  }
}

TEST(HiddenCases, OnlyWhatTheReferenceTakes) {
  GeneratedSettings settings = Settings(7);
  settings.dtypes = {"f32"};
  settings.is_taken = [](const PlannedCase& planned) { return planned.Bound()->problem.inputs[0].shape.size() == 2; };
  const auto cases = GenerateCases(settings);
  EXPECT_EQ(cases.size(), 12u);
  for (const PlannedCase& planned : cases) {
    EXPECT_EQ(planned.Bound()->problem.inputs[0].shape.size(), 2u);
    EXPECT_EQ(DTypeListText(planned.spec.dtypes), "f32");
  }
  settings.is_taken = [](const PlannedCase&) { return false; };
  EXPECT_TRUE(GenerateCases(settings).empty());
}

TEST(HiddenCases, TheLargestAreTimed) {
  auto cases = WithSecretSeeds(Visible(), 7);
  TimeLargest(cases, 1);
  EXPECT_FALSE(cases[0].timed);
  EXPECT_TRUE(cases[1].timed);
}

}  // namespace
}  // namespace assay
