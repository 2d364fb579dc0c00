// SPDX-License-Identifier: Apache-2.0
// The summary in Markdown, which GitHub limits.
#include "reports/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeRecord;
using testing::HasSubstr;

TEST(Markdown, StaysUnderTheStepSummaryLimitWithManyFailures) {
  auto failing = MakeRecord("cpu", "naive", "mismatch");
  failing.reason = std::string(500, 'r');
  const std::string text = MarkdownReport(std::vector<Record>(5000, failing));
  EXPECT_LT(text.size(), 1024u * 1024u);
  EXPECT_THAT(text, HasSubstr("and 4800 more"));
}

TEST(Markdown, StaysUnderTheStepSummaryLimitWithManyReasons) {
  std::vector<Record> records;
  for (int i = 0; i < 5000; ++i) {
    records.push_back(MakeRecord("cpu", "", "unsupported"));
    records.back().reason = std::to_string(i) + std::string(500, 'r');
  }
  records.push_back(records[4321]);
  const std::string text = MarkdownReport(records);
  EXPECT_LT(text.size(), 1024u * 1024u);
  EXPECT_THAT(text, HasSubstr("| 2 | cpu | unsupported | 4321r"));
  EXPECT_THAT(text, HasSubstr("| 4800 |  |  | 4800 more reasons"));
}

TEST(Markdown, AReasonStaysOneLineOfText) {
  auto failing = MakeRecord("cpu", "naive", "mismatch");
  failing.reason = "alg=winograd<4,3>\n# not a heading <script>";
  const std::string text = MarkdownReport({failing});
  EXPECT_THAT(text, HasSubstr(": alg=winograd&lt;4,3> # not a heading &lt;script>\n"));
}

}  // namespace
}  // namespace assay
