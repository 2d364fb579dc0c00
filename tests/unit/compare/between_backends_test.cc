// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/between_backends.h"

#include <gtest/gtest.h>

namespace assay::test {
namespace {

Record MakeResult(const std::string& name, const std::string& bits, double rms, const std::string& verdict = "pass") {
  Record r;
  r.case_id = "c", r.input_hash = "i";
  r.backend = name.substr(0, name.find(' ')), r.implementation = name.substr(name.find(' ') + 1);
  r.output_hash = bits, r.rms_err = rms, r.verdict = verdict;
  return r;
}

std::vector<ComparedResults> Compare(const std::vector<Record>& records) {
  std::vector<const Record*> pointers;
  for (const Record& r : records) pointers.push_back(&r);
  return CompareInCases(pointers);
}

TEST(BetweenBackends, EqualBitsAreGatheredAndTheNearestIsNamed) {
  const std::vector<Record> records = {MakeResult("a x", "1", 3), MakeResult("b x", "2", 1), MakeResult("b y", "1", 3)};
  const auto cases = Compare(records);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].equal, (std::vector<std::vector<size_t>>{{0, 2}, {1}}));
  EXPECT_EQ(cases[0].nearest, 1u);
  EXPECT_EQ(cases[0].odd, 1u) << "it alone has other bits";
  EXPECT_EQ(OddOneOutText(cases[0]), "") << "no failure";
}

TEST(BetweenBackends, TheOneThatAloneFailsIsOdd) {
  std::vector<Record> records = {MakeResult("a x", "1", 3, "mismatch"), MakeResult("b x", "2", 1),
                                 MakeResult("b y", "3", 2)};
  EXPECT_EQ(OddOneOutText(Compare(records).at(0)), "odd one out: a x, of 3 results of this case");
  records[1].verdict = "mismatch";
  EXPECT_EQ(Compare(records).at(0).odd, std::nullopt) << "two fail";
  records[1].verdict = "pass";
  records.pop_back();
  EXPECT_EQ(Compare(records).at(0).odd, std::nullopt) << "of two nobody knows";
}

TEST(BetweenBackends, DevicesOfABackendAreToldApart) {
  std::vector<Record> records = {MakeResult("a x", "1", 3, "mismatch"), MakeResult("a x", "2", 1),
                                 MakeResult("b x", "2", 1)};
  records[0].device = "GPU 0", records[1].device = "GPU 1", records[2].device = "host";
  const auto cases = Compare(records);
  EXPECT_EQ(OddOneOutText(cases.at(0)), "odd one out: a x on GPU 0, of 3 results of this case");
  const auto pairs = ComparePairs(cases);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1].first + ", " + pairs[1].second, "a x on GPU 1, b x");
}

TEST(BetweenBackends, ResultsOfOtherInputsOrWithoutOutputsAreNotBesideEachOther) {
  std::vector<Record> records = {MakeResult("a x", "1", 3), MakeResult("b x", "2", 1)};
  records[1].input_hash = "j";
  EXPECT_TRUE(Compare(records).empty());
  records[1].input_hash = "i", records[1].output_hash = "";
  EXPECT_TRUE(Compare(records).empty());
}

TEST(BetweenBackends, PairsAreOfDifferentBackends) {
  const std::vector<Record> records = {MakeResult("a x", "1", 3), MakeResult("b x", "2", 1), MakeResult("b y", "1", 3)};
  const auto pairs = ComparePairs(Compare(records));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].first + ", " + pairs[0].second, "a x, b x");
  EXPECT_EQ(pairs[0].cases, 1);
  EXPECT_EQ(pairs[0].equal, 0);
  EXPECT_EQ(pairs[0].first_nearer, 0);
  EXPECT_EQ(pairs[0].second_nearer, 1);
  EXPECT_EQ(pairs[1].equal, 1);
}

}  // namespace
}  // namespace assay::test
