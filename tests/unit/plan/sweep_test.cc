// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string SweepErrorOf(std::string_view text) {
  const auto sweep = ParseSweep(text);
  return sweep ? "" : sweep.error().message;
}

TEST(Sweep, RangesDoubleMultiplyAndAddAndEndWithTheirEnd) {
  EXPECT_THAT(ParseSweep("b=1..8")->values, ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(ParseSweep("b=3..20")->values, ElementsAre("3", "6", "12", "20"));
  EXPECT_THAT(ParseSweep("b=1..64*8")->values, ElementsAre("1", "8", "64"));
  EXPECT_THAT(ParseSweep("l=64..256+64")->values, ElementsAre("64", "128", "192", "256"));
  EXPECT_THAT(ParseSweep("b=1,5,16..32,7x7")->values, ElementsAre("1", "5", "16", "32", "7x7"));
  EXPECT_THAT(ParseSweep("b=9..9")->values, ElementsAre("9"));
  const Sweep entry = ParseSweep("shape.1=2..4").value();
  EXPECT_EQ(entry.key, "shape");
  EXPECT_EQ(entry.entry, 1);
  EXPECT_EQ(entry.Label(), "shape.1");
}

TEST(Sweep, SaysWhatIsPossible) {
  for (const char* bad : {"b", "=1..2", "b=8..1", "b=0..4", "b=1..", "b=..4", "b=1..4*1", "b=1..4+0", "b=1,,2",
                          "b=", "b=1..x", "b=1..99999999999999999999"}) {
    EXPECT_THAT(SweepErrorOf(bad), HasSubstr("KEY=1..256")) << bad;
  }
  EXPECT_THAT(SweepErrorOf("shape.x=1"), HasSubstr("write shape.0"));
  EXPECT_THAT(SweepErrorOf("b=1..5000+1"), HasSubstr("more than 1000 values"));
}

TEST(Sweep, SetsTheAttributeOfTheCase) {
  const std::string id = "matmul/f32/m=4,n=3,k=2,transb=1/fill=uniform/seed=5";
  const auto ids = MakeSweptCases(id, ParseSweep("batch=1,2").value(), TestCatalog());
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_THAT(*ids, ElementsAre(id, "matmul/f32/m=4,n=3,k=2,batch=2,transb=1/fill=uniform/seed=5"));
  const auto lists = MakeSweptCases("reduce/f32/shape=4x8,axes=1,kind=sum/fill=normal/seed=0",
                                    ParseSweep("shape.0=1..2").value(), TestCatalog());
  ASSERT_TRUE(lists) << lists.error().message;
  EXPECT_THAT(*lists, ElementsAre("reduce/f32/shape=1x8,axes=1,kind=sum/fill=normal/seed=0",
                                  "reduce/f32/shape=2x8,axes=1,kind=sum/fill=normal/seed=0"));
}

TEST(Sweep, NamesTheCaseThatCannotBe) {
  const auto error = [](const char* id, const char* sweep) {
    const auto ids = MakeSweptCases(id, ParseSweep(sweep).value(), TestCatalog());
    return ids ? std::string() : ids.error().message;
  };
  const char* const matmul = "matmul/f32/m=4,n=3,k=2/fill=normal/seed=0";
  EXPECT_THAT(error(matmul, "b=1..4"), HasSubstr("matmul has no attribute 'b'; it has m, n, k, batch"));
  EXPECT_THAT(error(matmul, "m=big"), HasSubstr("m"));
  EXPECT_THAT(error(matmul, "m=1,2,1"), HasSubstr("the values 1 and 1 of m make the same case; give each once"));
  EXPECT_THAT(error(matmul, "m=1..8,4"), HasSubstr("the values 4 and 4 of m"));
  EXPECT_THAT(error(matmul, "m=1,01"), HasSubstr("the values 1 and 01 of m"));
  EXPECT_THAT(error("nothing/f32/-/fill=normal/seed=0", "m=1"), HasSubstr("no operator 'nothing'"));
  EXPECT_THAT(error("reduce/f32/shape=4x8,axes=1,kind=sum/fill=normal/seed=0", "shape.2=1"), HasSubstr("no entry 2"));
}

TEST(Sweep, ARecordSaysWhereItStands) {
  const Sweep batch = ParseSweep("batch=1,2").value();
  CaseSpec spec = Canonicalise(ParseId("matmul/f32/m=4,n=3,k=2/fill=normal/seed=0").value(), MatmulSchema()).value();
  EXPECT_EQ(SweepPoint(spec, batch, MatmulSchema()), "batch=1");
  EXPECT_EQ(SweepPoint(spec, ParseSweep("shape=1").value(), MatmulSchema()), "");
  spec =
      Canonicalise(ParseId("reduce/f32/shape=4x8,axes=1,kind=sum/fill=normal/seed=0").value(), ReduceSchema()).value();
  EXPECT_EQ(SweepPoint(spec, ParseSweep("shape.1=1").value(), ReduceSchema()), "shape.1=8");
}

}  // namespace
}  // namespace assay
