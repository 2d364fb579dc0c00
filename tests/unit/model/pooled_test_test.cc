// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/pooled_test.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace assay {
namespace {

Record RecordOf(const PooledTest& test, const std::string& inputs, const std::string& verdict = "pass") {
  Record record;
  record.backend = "cpu", record.implementation = "blocked", record.op = "matmul", record.dtype = "f32";
  record.verdict = verdict, record.input_hash = inputs;
  record.pooled = ToText(std::vector{test});
  return record;
}

PooledTest MakeTest(double agreement, double variance, double granted = 0, double step = 0) {
  return {"factor", true, agreement, 100, variance, granted, step};
}

TEST(PooledTests, TextComesBackAsItWas) {
  const std::vector<PooledTest> written = {{"factor", true, -1.5, 200, 3, 0.25, 0.125},
                                           {"mean/constant_eps", false, 1e-9, 1e18, 0, 0, 0, 4000000000}};
  const std::vector<PooledTest> read = ParsePooledTests(ToText(written));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(ToText(read), ToText(written));
  EXPECT_TRUE(read[0].proves);
  EXPECT_FALSE(read[1].proves);
  EXPECT_EQ(read[1].question, "mean/constant_eps");
  EXPECT_EQ(read[0].data, 0U);
  EXPECT_EQ(read[1].data, 4000000000U);
}

TEST(PooledTests, WhatCannotBeReadIsLeftOut) {
  EXPECT_TRUE(ParsePooledTests("").empty());
  EXPECT_TRUE(ParsePooledTests("factor").empty());
  EXPECT_TRUE(ParsePooledTests("factor,maybe,1,2,3,4,5").empty());
  EXPECT_TRUE(ParsePooledTests("factor,proves,1,2,3,4,nan").empty());
  EXPECT_EQ(ParsePooledTests("factor,proves,1,2,3,4;factor,proves,1,2,3,4,5").size(), 1U);
}

TEST(PooledTests, WhatOneResultCannotSayManyDo) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) records.push_back(RecordOf(MakeTest(2, 1), std::to_string(i)));
  EXPECT_TRUE(FindPooled({records[0]}).empty());
  const std::vector<PooledAnswer> found = FindPooled(records);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].results, 100);
  EXPECT_DOUBLE_EQ(found[0].answer, 0.02);
  EXPECT_DOUBLE_EQ(found[0].deviation, 0.001);
  // 200 over 10 sqrt(2 ln(2 / 1e-6)).
  EXPECT_NEAR(found[0].margin, 200 / (10 * std::sqrt(2 * std::log(2e6))), 1e-9);
  EXPECT_THAT(found[0].Text(), testing::HasSubstr("results are 0.02 of themselves too large"));
}

TEST(PooledTests, ResultsOfTheSameInputsAreNotIndependent) {
  std::vector<Record> records(100, RecordOf(MakeTest(2, 1), "the same"));
  const std::vector<PooledAnswer> answers = PoolTests(records);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_DOUBLE_EQ(answers[0].deviation, 0.01);
  EXPECT_FALSE(answers[0].IsFinding());
}

// Random data of one seed begin alike: a case of more rows has those of one with fewer. Joined to one of a group is
// joined to all of it.
TEST(PooledTests, ResultsOfTheSameFirstRowsAreNotIndependent) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) {
    PooledTest test = MakeTest(2, 1);
    test.data = i % 2 == 0 ? 7 : 0;
    records.push_back(RecordOf(test, std::to_string(i / 2)));
  }
  EXPECT_FALSE(PoolTests(records)[0].IsFinding());
  EXPECT_DOUBLE_EQ(PoolTests(records)[0].deviation, 0.01);
  for (int i = 0; i < 100; ++i) {
    PooledTest test = MakeTest(2, 1);
    test.data = static_cast<uint32_t>(i + 1);
    records[static_cast<size_t>(i)] = RecordOf(test, std::to_string(i));
  }
  EXPECT_TRUE(PoolTests(records)[0].IsFinding());
}

TEST(PooledTests, OneErrorInAMillionRunsIsSharedByAllImplementations) {
  const auto margin_of_first = [](int implementations) {
    std::vector<Record> records;
    for (int i = 0; i < implementations; ++i) {
      records.push_back(RecordOf(MakeTest(2, 1), "a"));
      records.back().implementation = std::to_string(i);
    }
    return PoolTests(records)[0].margin;
  };
  EXPECT_NEAR(margin_of_first(1), 2 / std::sqrt(2 * std::log(2e6)), 1e-9);
  EXPECT_NEAR(margin_of_first(50), 2 / std::sqrt(2 * std::log(1e8)), 1e-9);
}

TEST(PooledTests, WhatTheContractGrantsIsTakenOff) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) records.push_back(RecordOf(MakeTest(2, 1, 2), std::to_string(i)));
  EXPECT_TRUE(FindPooled(records).empty());
}

TEST(PooledTests, OnlyWhatPassesCounts) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) {
    records.push_back(RecordOf(MakeTest(2, 1), std::to_string(i), i % 2 == 0 ? "mismatch" : "crash"));
  }
  EXPECT_TRUE(PoolTests(records).empty());
}

TEST(PooledTests, ImplementationsAndTypesAreApart) {
  std::vector<Record> records = {RecordOf(MakeTest(2, 1), "a"), RecordOf(MakeTest(2, 1), "b"),
                                 RecordOf(MakeTest(2, 1), "c")};
  records[1].implementation = "naive";
  records[2].dtype = "bf16";
  EXPECT_EQ(PoolTests(records).size(), 3U);
}

// Runs of results whose parts have the heaviest tail that is allowed for and lean as far as is granted: none of 200,000
// is a finding, nor near one by more than chance.
TEST(PooledTests, NoFindingAmongCorrectRuns) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> exponential(1);
  double largest = 0;
  for (int run = 0; run < 200'000; ++run) {
    double agreement = 0;
    const int parts = 1 + run % 20;
    for (int i = 0; i < parts; ++i) {
      const double tail = exponential(random);
      agreement += (random() & 1) != 0 ? tail : -tail;  // variance 2, sub-gamma of scale 1
    }
    const PooledTest test{"factor", true, agreement + 5, 100, 2.0 * parts, 5, 1};
    largest = std::max(largest, PoolTests({RecordOf(test, "a")})[0].margin);
  }
  EXPECT_LT(largest, 1);
  EXPECT_GT(largest, 0.4);
}

}  // namespace
}  // namespace assay
