// SPDX-License-Identifier: Apache-2.0
// Output that a run prints at its end.
#include "reports/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeRecord;
using testing::HasSubstr;
using testing::Not;

TEST(Console, RecordsCannotReachTheTerminal) {
  auto hostile = MakeRecord("cpu", "naive", "mismatch");
  hostile.reason = "red \x1b[31m\nassay: 0 failed\xff";
  hostile.device = hostile.case_id = "\u202e\x9b";
  const std::string text = ConsoleReport({hostile}, {});
  EXPECT_THAT(text, HasSubstr("red \\x1b[31m\\nassay: 0 failed\uFFFD\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
}

TEST(Console, FailuresComeLastWithAReproductionLine) {
  const std::vector<Record> records{MakeRecord("cpu", "naive", "crash"), MakeRecord("cpu", "naive", "pass", 1e-3),
                                    MakeRecord("x", "", "unsupported")};
  const std::string text = ConsoleReport(records, {});
  const size_t failures = text.find("Failures");
  ASSERT_NE(failures, std::string::npos);
  EXPECT_GT(failures, text.find("Not run"));
  EXPECT_THAT(text.substr(failures), HasSubstr("reproduce: assay run --case X --backend cpu"));
  EXPECT_THAT(text, HasSubstr("1 crash, 1 pass, 1 unsupported"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[")));
  const std::string coloured = ConsoleReport(records, {.colour = true});
  for (const char* part :
       {"\x1b[35m1 crash\x1b[0m", "\x1b[32m 1 pass", "\x1b[2m1 unsupported\x1b[0m", "\x1b[1mNot run\x1b[0m"}) {
    EXPECT_THAT(coloured, HasSubstr(part));
  }
}

TEST(Console, AFailureThatStandsAloneIsCalledTheOddOneOut) {
  std::vector<Record> records{MakeRecord("cpu", "naive", "mismatch"), MakeRecord("cpu", "blocked", "pass", 1e-3),
                              MakeRecord("x", "gemm", "pass", 1e-3)};
  for (size_t i = 0; i < records.size(); ++i) records[i].output_hash = std::to_string(i);
  EXPECT_THAT(ConsoleReport(records, {}), HasSubstr("odd one out: cpu naive on cpu-device, of 3 results of this case"));
  records.pop_back();
  EXPECT_THAT(ConsoleReport(records, {}), Not(HasSubstr("odd one out")));
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Console, FewFailuresAreListedWithTheGravestFirst) {
  std::vector<Record> records(18, MakeRecord("cpu", "naive", "mismatch"));
  for (size_t i = 0; i < records.size(); ++i) records[i].case_id += std::to_string(i);
  records.push_back(MakeRecord("cpu", "naive", "crash"));
  records.push_back(MakeRecord("cpu", "naive", "melted"));
  const std::string text = ConsoleReport(records, {});
  EXPECT_EQ(CountOf(text, "reproduce: "), 20u);
  const size_t melted = text.find("because of melted"), crash = text.find("because of crash");
  EXPECT_LT(melted, crash);
  EXPECT_LT(crash, text.find("because of mismatch"));
  EXPECT_LT(text.find("seed=00\n"), text.find("seed=01\n"));  // else as they ran
}

TEST(Console, ManyFailuresAreGatheredByImplementationAndCut) {
  std::vector<Record> records;
  for (int i = 0; i < 60; ++i) {
    records.push_back(MakeRecord("cpu", "kernel" + std::to_string(i % 30), "mismatch"));
    records.back().case_id += std::to_string(i);
  }
  records.push_back(MakeRecord("cpu", "naive", "crash"));
  const std::string text = ConsoleReport(records, {.all_file = "out/report.html"});
  EXPECT_THAT(text, HasSubstr("Failures: 61, one example for each outcome, implementation and operator\ncrash "));
  EXPECT_EQ(CountOf(text, "reproduce: "), 20u);
  EXPECT_EQ(CountOf(text, "\n2 x mismatch      cpu:kernel"), 19u);
  EXPECT_THAT(text, HasSubstr("\nand 22 more: out/report.html\n"));  // of 11 kernels
  const std::string all = ConsoleReport(records, {.failures = 40, .all_file = "x"});
  EXPECT_EQ(CountOf(all, "reproduce: "), 31u);
  EXPECT_THAT(all, HasSubstr("\nall of them: x\n"));
}

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto starts = [](char c) { return (c & 0xC0) != 0x80; };
    longest = std::max(longest, static_cast<size_t>(std::count_if(line.begin(), line.end(), starts)));
  }
  return longest;
}

TEST(Console, EverythingFitsTheTerminal) {
  std::vector<Record> records;
  for (const char* backend : {"cpu", "onednn", "opencl", "vulkan", "cuda", "hip"}) {
    for (const char* outcome : {"pass", "mismatch", "below_contract", "known_failure", "inconclusive", "unsupported"}) {
      records.push_back(MakeRecord(backend, "implementation-of-" + std::string(backend), outcome, 1e-3));
      records.back().reason =
          "a reason of so many words that it takes more than one line of a terminal of eighty columns";
    }
  }
  const std::string narrow = ConsoleReport(records, {.width = 80});
  EXPECT_LE(LongestLine(narrow), 80u) << narrow;
  EXPECT_GT(LongestLine(ConsoleReport(records, {})), 150u);
  const size_t matrix = narrow.find("operator  dtype");
  EXPECT_THAT(narrow.substr(matrix), HasSubstr("1 below_contract"));
  EXPECT_EQ(CountOf(narrow, "operator  dtype"), 2u);  // the backends that do not fit stand in a table below
  EXPECT_THAT(narrow, HasSubstr("\nmatmul/f32/m=8,n=8,k=8/fill=normal/seed=0\n  cpu     1.00 ms"));
}

TEST(Console, PerformanceHasItsHeadersAboveTheirColumns) {
  const std::string text = ConsoleReport(
      {MakeRecord("first", "long-name-of-it", "pass", 3e-3), MakeRecord("second", "b", "pass", 1e-3)}, {});
  std::string header, row;
  std::istringstream lines(text.substr(text.find("Performance:")));
  std::getline(lines, header);
  std::getline(lines, header);
  std::getline(lines, row);
  EXPECT_EQ(row.substr(header.find("first")).rfind("3.00 ms", 0), 0u) << text;
  EXPECT_EQ(row.substr(header.find("second")).rfind("1.00 ms", 0), 0u) << text;
}

TEST(Console, PerformanceSaysRooflineWhereOneWasMeasured) {
  auto record = MakeRecord("cpu", "x", "pass", 1e-3);
  record.roofline_fraction.reset();
  EXPECT_THAT(ConsoleReport({record}, {}),
              HasSubstr("that passed, and of a weaker contract a faster one, median; the largest cases\n"));
  record.roofline_fraction = 0.42;
  EXPECT_THAT(ConsoleReport({record}, {}), HasSubstr("median, share of the roofline; the largest cases\n"));
}

}  // namespace
}  // namespace assay
