// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Scale, IsOneOverANumber) {
  EXPECT_EQ(ParseScale("1/8").value(), 8);
  EXPECT_EQ(ParseScale("1/1").value(), 1);
  EXPECT_EQ(ParseScale("1").value(), 1);
  for (const char* bad : {"8", "1/0", "2/8", "1/", "1/x", "0.125", "1/-8", "1/2000", ""}) {
    const auto scale = ParseScale(bad);
    ASSERT_FALSE(scale) << bad;
    EXPECT_THAT(scale.error().message, HasSubstr("give 1/2, 1/8 or another 1/N"));
  }
}

TEST(Scale, ExtentsKeepTheFactorsOfTwoThatFit) {
  const struct {
    int64_t extent, divisor, divided;
  } table[] = {{4096, 8, 512}, {2880, 8, 384}, {128256, 8, 16064}, {32, 8, 4}, {12, 8, 2}, {1, 8, 1},   {1000, 8, 128},
               {7, 8, 1},      {64, 1, 64},    {3, 2, 2},          {0, 8, 0},  {24, 8, 4}, {-1, 1, -1}, {-2, 8, -2}};
  for (const auto& row : table) {
    EXPECT_EQ(DivideExtent(row.extent, row.divisor), row.divided) << row.extent << " / " << row.divisor;
  }
}

constexpr const char* kScaledSuite =
    "scale n k\n"
    "matmul dtypes=f32 m=6 n=64|128 k=512\n"
    "scale shape.0\n"
    "reduce dtypes=f32 shape=48x24 axes=1 kind=sum\n"
    "scale none\n"
    "matmul dtypes=f32 m=6 n=64 k=512\n";

TEST(Scale, DividesTheExtentsThatTheSuiteNames) {
  SuiteScale scale{.divisor = 4};
  const auto cases = ParseSuite(kScaledSuite, "s.suite", TestCatalog(), &scale);
  ASSERT_TRUE(cases) << cases.error().message;
  std::vector<std::string> ids;
  for (const PlannedCase& planned : *cases) ids.push_back(planned.spec.Id());
  const std::string first = "matmul/f32/m=6,n=16,k=128/fill=normal/seed=0",
                    whole = "matmul/f32/m=6,n=64,k=512/fill=normal/seed=0";
  EXPECT_THAT(ids, ElementsAre(first, "matmul/f32/m=6,n=32,k=128/fill=normal/seed=0",
                               "reduce/f32/shape=16x24,axes=1,kind=sum/fill=normal/seed=0", whole));
  EXPECT_EQ(scale.Text(), "--scale 1/4: 3 of 4 cases are smaller, such as " + first + " for " + whole +
                              ". Its lines `scale` name the extents that are divided");
  EXPECT_EQ(ParseSuite(kScaledSuite, "s.suite", TestCatalog()).value().size(),
            3U);  // whole ones, one of them planned twice
}

TEST(Scale, SaysWhatAnOperatorDoesNotTake) {
  OpCatalog catalog = TestCatalog();
  catalog.bind = [](const CaseSpec& spec) -> Result<SharedCase> {
    if (spec.Id().find("n=16") == std::string::npos) return SharedCase();
    return UsageError("n=16 is too small");
  };
  SuiteScale scale{.divisor = 4};
  const auto error = [&](const char* text) {
    const auto cases = ParseSuite(text, "s.suite", catalog, &scale);
    return cases ? "" : cases.error().message;
  };
  EXPECT_EQ(error("scale n\nmatmul dtypes=f32 m=6 n=64 k=2"),
            "s.suite:2:1: --scale 1/4: n=16 is too small; give a larger scale");
  const std::string reduce = "\nreduce dtypes=f32 shape=4x8 axes=1 kind=sum";
  EXPECT_THAT(error(("scale shape.2" + reduce).c_str()), HasSubstr("scale shape.2: 4x8 has 2 numbers"));
  EXPECT_THAT(error(("scale axes" + reduce).c_str()), HasSubstr("reduce has no extent of that name"));
  for (const char* twice : {"shape shape.1", "shape.1 shape", "shape.0 k shape.0"}) {
    EXPECT_THAT(error((std::string("scale ") + twice + reduce).c_str()), HasSubstr("would divide an extent twice"));
  }
  EXPECT_EQ(error(("scale shape.0 shape.1" + reduce).c_str()), "");
}

}  // namespace
}  // namespace assay
