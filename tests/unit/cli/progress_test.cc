// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cli/terminal/run_watch.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Record Failing(const std::string& case_id, const std::string& implementation) {
  Record r;
  r.case_id = case_id, r.backend = "cpu", r.implementation = implementation;
  r.verdict = r.outcome = "mismatch", r.reason = "bound channel: 1 \x1b[31mwrong";
  return r;
}

std::string WatchedText(Progress::Mode mode, bool colour, const std::vector<Record>& failures) {
  testing::internal::CaptureStderr();
  RunWatch watch(mode, colour);
  for (const Record& r : failures) watch.Failed(r);
  watch.End();
  return testing::internal::GetCapturedStderr();
}

TEST(RunWatch, AFailureIsSaidAtOnceWithItsReasonAndNoControlCharacter) {
  const std::string text = WatchedText(Progress::Mode::kLines, false, {Failing("matmul/1", "naive")});
  EXPECT_EQ(text, "assay: mismatch  cpu:naive  matmul/1\n    bound channel: 1 \\x1b[31mwrong\n");
  EXPECT_THAT(WatchedText(Progress::Mode::kLines, true, {Failing("matmul/1", "naive")}),
              StartsWith("assay: \x1b[31mmismatch\x1b[0m  cpu:naive"));
  EXPECT_EQ(WatchedText(Progress::Mode::kNone, false, {Failing("matmul/1", "naive")}), "");
}

TEST(RunWatch, OneCauseDoesNotFloodTheTerminal) {
  std::vector<Record> failures;
  for (int i = 0; i < 9; ++i) failures.push_back(Failing("matmul/" + std::to_string(i), "naive"));
  failures.push_back(Failing("fft/1", "radix"));
  const std::string text = WatchedText(Progress::Mode::kLines, false, failures);
  EXPECT_THAT(text, HasSubstr("matmul/2\n    bound channel: 1 \\x1b[31mwrong\n    Further results of this kind"));
  EXPECT_THAT(text, Not(HasSubstr("matmul/3")));
  EXPECT_THAT(text, HasSubstr("cpu:radix  fft/1"));
}

}  // namespace
}  // namespace assay::cli
