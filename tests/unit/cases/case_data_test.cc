// SPDX-License-Identifier: Apache-2.0
#include "harness/cases/case_data.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace assay {
namespace {

CaseData Prepare(const char* id) {
  return PrepareCase(ParseId(id).value(), "auto", GoldenStore(std::filesystem::path())).value();
}

TEST(SecondSet, HoldsOtherDataWithItsOwnGolden) {
  const CaseData first = Prepare("reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=3");
  const auto second = PrepareSecondSet(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->problem.spec.Id(), "reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=4");
  EXPECT_NE(second->input_hash, first.input_hash);
  EXPECT_EQ(second->problem.output().shape, first.problem.output().shape);
  const CaseData alone = Prepare("reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=4");
  EXPECT_EQ(second->golden().value, alone.golden().value);
  EXPECT_NE(second->golden().value, first.golden().value);
}

TEST(SecondSet, TakesAnotherFillWhereTheSeedChangesNothing) {
  const CaseData first = Prepare("reduce/f32-i64/shape=4x100,axes=1,kind=argmin,tie=any/fill=ramp/seed=0");
  const auto second = PrepareSecondSet(first);
  ASSERT_TRUE(second);
  EXPECT_NE(second->input_hash, first.input_hash);
}

}  // namespace
}  // namespace assay
