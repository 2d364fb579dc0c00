// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/schedule.h"

#include <gtest/gtest.h>

#include "harness/core/model/case_spec.h"
#include "harness/engine/cases/host_memory.h"

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

std::vector<size_t> Sizes(const std::vector<CaseGroup>& groups) {
  std::vector<size_t> sizes;
  size_t begin = 0;
  for (const CaseGroup& group : groups) {
    EXPECT_EQ(group.begin, begin);  // all cases, in order
    begin = group.end;
    sizes.push_back(group.end - group.begin);
  }
  return sizes;
}

TEST(CaseGroups, HoldAllCasesInOrderAndNoMoreThanTheMost) {
  EXPECT_TRUE(GroupCases({}).empty());
  EXPECT_EQ(Sizes(GroupCases(Planned(2 * kMostCasesInGroup + 1, kSmall))),
            (std::vector<size_t>{kMostCasesInGroup, kMostCasesInGroup, 1}));
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

}  // namespace
}  // namespace assay
