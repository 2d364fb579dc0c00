// SPDX-License-Identifier: Apache-2.0
// How `assay power --explain` compares what is named with the true cause of a fault.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/tools/power/power_naming.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

class FaultNaming : public testing::Test {
 protected:
  Result<TrueCauses> Read(const std::string& lines) {
    std::ofstream(folder_ / "causes.txt") << lines;
    return TrueCauses::Read(folder_ / "libassay_corpus.so");
  }
  const TemporaryFolder files_;
  const std::filesystem::path folder_ = files_.Path("");
};

TEST_F(FaultNaming, TheFirstLineThatMatchesIsTheCause) {
  const auto causes = Read("# a comment\nmatmul fault.a* attribute alpha=*|beta=1\n* * terms none | ~*rows*\n");
  ASSERT_TRUE(causes);
  const TrueCause* const of_a = causes->Find("matmul", "fault.alpha");
  ASSERT_NE(of_a, nullptr);
  EXPECT_EQ(of_a->kind, "attribute");
  EXPECT_EQ(of_a->names, (std::vector<std::string>{"alpha=*", "beta=1"}));
  const TrueCause* const of_others = causes->Find("conv", "fault.alpha");
  ASSERT_NE(of_others, nullptr);
  EXPECT_EQ(of_others->names.size(), 0u);
  EXPECT_EQ(of_others->hints, (std::vector<std::string>{"*rows*"}));
}

TEST_F(FaultNaming, LinesOfOtherPartsComeBeforeTheGlobsOfTheTunedOne) {
  for (const char* list : {"held_causes.txt", "fresh_causes.txt", "later_causes.txt"})
    std::ofstream(folder_ / list) << "matmul fault." << list << " terms *last*\n";
  const auto causes = Read("matmul fault.* attribute alpha=*\n");
  ASSERT_TRUE(causes);
  EXPECT_EQ(causes->Find("matmul", "fault.held_causes.txt")->kind, "terms");
  EXPECT_EQ(causes->Find("matmul", "fault.fresh_causes.txt")->kind, "terms");
  EXPECT_EQ(causes->Find("matmul", "fault.later_causes.txt")->kind, "terms");
  EXPECT_EQ(causes->Find("matmul", "fault.other")->kind, "attribute");
}

TEST_F(FaultNaming, ALineWithoutACauseIsRefusedWithItsNumber) {
  const auto causes = Read("* fault.a terms none\nmatmul fault.b terms\n");
  ASSERT_FALSE(causes);
  EXPECT_NE(causes.error().message.find("causes.txt:2: 'matmul fault.b terms'"), std::string::npos)
      << causes.error().message;
  std::filesystem::remove(folder_ / "causes.txt");
  EXPECT_FALSE(TrueCauses::Read(folder_ / "libassay_corpus.so"));
}

TEST_F(FaultNaming, TheFirstNameDecidesAndALaterOneIsAHint) {
  const TrueCause truth{"*", "*", "attribute", {"alpha=*"}, {"*last row*"}}, unknown{"*", "*", "terms", {}, {}};
  EXPECT_EQ(JudgeNaming(truth, {"alpha=2", "beta=0"}, ""), Naming::kRight);
  EXPECT_EQ(JudgeNaming(truth, {"beta=0", "alpha=2"}, ""), Naming::kHinted);
  EXPECT_EQ(JudgeNaming(truth, {"beta=0"}, "3 of 9 in the last row"), Naming::kWrong);
  EXPECT_EQ(JudgeNaming(truth, {}, "3 of 9 in the last row"), Naming::kHinted);
  EXPECT_EQ(JudgeNaming(truth, {}, "3 of 9"), Naming::kUnexplained);
  EXPECT_EQ(JudgeNaming(unknown, {}, ""), Naming::kUnexplained);
  EXPECT_EQ(JudgeNaming(unknown, {"alpha=2"}, ""), Naming::kWrong);
}

FaultPair Caught(const std::string& fault, std::vector<std::string> named) {
  FaultPair pair{.fault = fault, .case_id = "matmul/f32/m=2", .effect = 9, .reason = ""};
  pair.opinions.fill(Opinion::kRejects);
  pair.named = std::move(named);
  return pair;
}

TEST_F(FaultNaming, SharesAreOfCaughtFaultsAndThoseHeldFromTuningStandApart) {
  const auto causes = Read("matmul fault.n* terms none\nmatmul fault.a* attribute alpha=*\n");
  ASSERT_TRUE(causes);
  PowerTally tally;
  for (int i = 0; i < 30; ++i) {
    tally.pairs.push_back(Caught("fault.a" + std::to_string(i), {i % 3 == 0 ? "beta=1" : "alpha=1"}));
    tally.pairs.push_back(Caught("fault.n" + std::to_string(i), {}));
  }
  tally.pairs.push_back(Caught("fault.other", {}));  // no line is about it
  tally.pairs.push_back(Caught("fault.a", {"alpha=1"}));
  tally.pairs.back().opinions.fill(Opinion::kAccepts);  // missed
  const Json json = NamingJson(tally, *causes);
  EXPECT_EQ(json["unstated"], 1);
  int64_t right = 0, wrong = 0, unexplained = 0, all = 0, apart = 0;
  for (const Json& share : json["shares"]) {
    const std::string what = share["share"];
    const int64_t count = share["count"];
    if (what.starts_with("named right")) right += count, all += share["all"].get<int64_t>();
    if (what.starts_with("named wrong")) wrong += count;
    if (what.starts_with("unexplained")) unexplained += count;
    if (what.starts_with("named right") && share["counted_apart"]) apart = share["all"];
    EXPECT_LE(share["low_95"], share["high_95"]);
  }
  EXPECT_EQ(right, 20);
  EXPECT_EQ(wrong, 10);
  EXPECT_EQ(unexplained, 30);
  EXPECT_EQ(all, 30);
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart, 30);
  const std::string text = NamingText(tally, *causes);
  EXPECT_NE(text.find("fault.a0 of matmul: 0 right, 0 hinted, 0 unexplained, 1 wrong, as 'beta=1'"), std::string::npos)
      << text;
  EXPECT_NE(text.find("left out: 1 caught"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
