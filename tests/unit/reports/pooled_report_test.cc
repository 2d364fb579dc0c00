// SPDX-License-Identifier: Apache-2.0
// A pooled test of all results fails a run whose records all pass, and every report says so.
#include <gmock/gmock.h>

#include "reports/console.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/pooled.h"
#include "reports/summary.h"
#include "tests/unit/reports/made_record.h"

namespace assay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStrictRun = R"({"strict": true})";

std::vector<Record> PassingRecords(bool proves, double agreement) {
  Record record = MakeRecord("cpu", "blocked", "pass");
  const PooledTest evidence{proves ? "factor" : "constant_scale", proves, agreement, 1e6, 1, 0, 0};
  record.pooled = ToText(std::vector{evidence});
  return {record};
}

TEST(PooledReport, AProofFailsEveryReport) {
  const std::vector<Record> records = PassingRecords(true, 100);
  EXPECT_THAT(OutcomeLine(records), HasSubstr("1 pass; 1 pooled finding fails the run"));
  EXPECT_THAT(HtmlReport(records, "", ""), AllOf(HasSubstr(R"("headline":["bad")"), HasSubstr("1 pooled finding")));
  EXPECT_THAT(MarkdownReport(records, "", ""), HasSubstr("results are 0.0001 of themselves too large"));
  EXPECT_THAT(ConsoleReport(records, {}), HasSubstr("blocked matmul f32: results are"));
  EXPECT_THAT(JunitReport(records, ""), AllOf(HasSubstr("tests=\"2\" failures=\"1\""),
                                              HasSubstr("<testsuite name=\"pooled evidence\" tests=\"1\""),
                                              HasSubstr("<failure type=\"pooled\" message=\"results are")));
}

TEST(PooledReport, AHintFailsAStrictRunAlone) {
  const std::vector<Record> records = PassingRecords(false, 100);
  EXPECT_THAT(OutcomeLine(records), HasSubstr("1 pass; 1 pooled finding with --strict"));
  EXPECT_EQ(StrictFailuresText(records), "1 pooled finding");
  EXPECT_THAT(HtmlReport(records, "", ""), HasSubstr(R"("headline":["ok")"));
  EXPECT_THAT(HtmlReport(records, kStrictRun, ""), HasSubstr(R"("headline":["bad")"));
  EXPECT_THAT(JunitReport(records, ""), AllOf(HasSubstr("tests=\"2\" failures=\"0\""), Not(HasSubstr("<failure"))));
  EXPECT_THAT(JunitReport(records, kStrictRun), HasSubstr("tests=\"2\" failures=\"1\""));
}

TEST(PooledReport, WithoutAFindingNothingIsSaid) {
  const std::vector<Record> records = PassingRecords(true, 1);
  EXPECT_TRUE(PooledLines(records).empty());
  EXPECT_EQ(OutcomeLine(records), "1 pass");
  EXPECT_THAT(JunitReport(records, ""), Not(HasSubstr("pooled")));
}

}  // namespace
}  // namespace assay::test
