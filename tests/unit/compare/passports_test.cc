// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/passports.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/compare/compare_runs_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Json MakePassport(const std::string& tree) {
  return {{"backend", "gpu"},
          {"device", "D"},
          {"library", "7"},
          {"case", "matmul/f32/m=1/fill=uniform/seed=9"},
          {"implementation", "a"},
          {"tree_hash", tree},
          {"order", "of " + tree},
          {"sum_bits", 24},
          {"rounding", "to nearest even"},
          {"contraction", nullptr},
          {"repeats", true},
          {"predicted", {{"agree", 1024}, {"sums", 1024}}}};
}

RunPassports Read(const Json& passport) {
  return RunPassports::Read({{"passports", {passport}}}).value();
}

class PassportsTest : public CompareRunsTest {
 protected:
  // The change of bits between two runs with these passports.
  Change Bits(const Json& base, const Json& now, const std::string& library = "7") {
    Record before = Passed("a"), after = Passed("a");
    before.library_version = "7", after.library_version = library, after.output_hash = "p";
    RunToCompare first{.name = "base", .records = {before}, .passports = Read(base)};
    RunToCompare second{.name = "new", .records = {after}, .passports = Read(now)};
    comparison_ = CompareRuns(first, second, settings_).value();
    return comparison_.results.at(0).changes.at(0);
  }
};

TEST_F(PassportsTest, SameArithmeticInAnotherOrderIsTold) {
  settings_.policy.SetDefault("bits_changed", 1.0);
  const Change change = Bits(MakePassport("1"), MakePassport("2"));
  EXPECT_EQ(change.detail, "same arithmetic, other order: 1 (of 1) -> 2 (of 2)");
  EXPECT_TRUE(change.regression);
  EXPECT_THAT(comparison_.notes.at(0), HasSubstr("of 1 results with other bits 1 have the same arithmetic"));
  settings_.policy.SetDefault("bits_reordered", 0.0);
  EXPECT_FALSE(Bits(MakePassport("1"), MakePassport("2")).regression);
  EXPECT_TRUE(Bits(MakePassport("1"), MakePassport("1")).regression) << "the order explains nothing";
}

TEST_F(PassportsTest, OtherArithmeticAndUnexplainedBitsAreNoOrder) {
  settings_.policy.SetDefault("bits_changed", 1.0);
  settings_.policy.SetDefault("bits_reordered", 0.0);
  Json other = MakePassport("2");
  other["sum_bits"] = 11;
  EXPECT_EQ(Bits(MakePassport("1"), other).detail,
            "other arithmetic: sum_bits 24 -> 11; other order: 1 (of 1) -> 2 (of 2)");
  EXPECT_THAT(Bits(MakePassport("1"), MakePassport("1")).detail, HasSubstr("something else moves the bits"));
  other = MakePassport("2");
  other["predicted"]["agree"] = 1023;
  EXPECT_THAT(Bits(MakePassport("1"), other).detail, HasSubstr("do not predict all sums"));
  other = MakePassport("2");
  other["repeats"] = false;
  const Change change = Bits(MakePassport("1"), other);
  EXPECT_THAT(change.detail, HasSubstr("do not predict all sums"));
  EXPECT_TRUE(change.regression);
}

TEST_F(PassportsTest, PassportsOfAnotherLibraryProblemOrWithoutOrderTellNothing) {
  EXPECT_THAT(Bits(MakePassport("1"), MakePassport("2"), "8").detail, IsEmpty());
  for (const char* field : {"case", "backend", "implementation", "device"}) {
    Json other = MakePassport("2");
    other[field] = "another";
    EXPECT_THAT(Bits(MakePassport("1"), other).detail, IsEmpty()) << field;
  }
  Json unknown = MakePassport("2");
  unknown.erase("tree_hash");
  EXPECT_THAT(Bits(MakePassport("1"), unknown).detail, IsEmpty());
  EXPECT_FALSE(RunPassports::Read(Json::array()));
}

}  // namespace
}  // namespace assay::test
