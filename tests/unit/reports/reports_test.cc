// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/console.h"
#include "reports/deciding.h"
#include "reports/elements.h"
#include "reports/fault.h"
#include "reports/html/html.h"
#include "reports/incomplete.h"
#include "reports/junit.h"
#include "reports/known.h"
#include "reports/markdown.h"
#include "reports/profile.h"
#include "reports/run_notes.h"
#include "reports/summary.h"
#include "reports/table.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Record Make(const std::string& backend, const std::string& impl, const std::string& outcome, double time_s = 0) {
  Record r;
  r.case_id = "matmul/f32/m=8,n=8,k=8/fill=normal/seed=0";
  r.op = "matmul";
  r.dtype = "f32";
  r.backend = backend;
  r.device = backend + "-device";
  r.implementation = impl;
  r.verdict = r.outcome = outcome;
  r.reason = outcome == "pass" ? "" : "because of " + outcome;
  r.reproduce = "assay run --case X --backend " + backend;
  if (outcome == "pass") r.bound_margin = 0.25;
  if (time_s > 0) {
    r.time_median_s = time_s;
    r.flops = 1024;
    r.bytes = 768;
    r.gflops = 1e-9 * 1024 / time_s;
    r.gbytes_per_s = 1e-9 * 768 / time_s;
  }
  return r;
}

TEST(Table, TextPadsByCharactersNotBytes) {
  Table t{{"a", "n"}, {Align::kLeft, Align::kRight}, {{"é", "1"}, {"xy", "10"}}};
  EXPECT_EQ(AsText(t), "a    n\né    1\nxy  10\n");
}

TEST(Table, MarkdownEscapesBars) {
  Table t{{"a"}, {}, {{"x|y\nz"}}};
  EXPECT_THAT(AsMarkdown(t), HasSubstr("x\\|y z"));
}

TEST(Summary, MatrixCountsWhatPassedAndNamesWhatDidNot) {
  const std::vector<Record> records{Make("cpu", "naive", "pass"), Make("cpu", "naive", "mismatch"),
                                    Make("onednn", "gemm", "pass")};
  const Table t = VerdictMatrix(records);
  EXPECT_THAT(t.header, ElementsAre("operator", "dtype", "cpu", "onednn"));
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0], ElementsAre("matmul", "f32", "1 mismatch, 1 pass 0.25", "1 pass 0.25"));
  const Table by_implementation = ImplementationTable(records);
  ASSERT_EQ(by_implementation.rows.size(), 2u);
  EXPECT_THAT(by_implementation.rows[0], ElementsAre("matmul", "f32", "cpu:naive", "1 mismatch, 1 pass 0.25"));
}

// Which of them is timed first changes from run to run.
TEST(Summary, ThePerformanceTableHasTheColumnsInTheOrderOfTheOthers) {
  const std::vector<Record> records{Make("cpu", "naive", "unsupported"), Make("opencl", "x", "unsupported"),
                                    Make("vulkan", "x", "pass", 1e-3), Make("cpu", "naive", "pass", 1e-3)};
  EXPECT_THAT(PerformanceTable(records, 9).header, ElementsAre("case", "cpu", "vulkan"));
}

TEST(Profile, ATableOfPhasesAndBackendsTheLargestFirst) {
  const std::string json = R"({"wall_s": 10, "backends_s": 4, "phases": [
    {"backend": "", "phase": "run", "seconds": 1, "share": 0.1},
    {"backend": "cpu", "phase": "run", "seconds": 0.5, "share": 0.05},
    {"backend": "cpu", "phase": "<b>|x", "seconds": 3, "share": 0.3}]})";
  const Table table = ProfileTable(json);
  EXPECT_THAT(table.header, ElementsAre("phase", "all", "host", "cpu"));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_THAT(table.rows[0], ElementsAre("<b>|x", "3.00 s (30.0 %)", "", "3.00 s (30.0 %)"));
  EXPECT_THAT(table.rows[1], ElementsAre("run", "1.50 s (15.0 %)", "1.00 s (10.0 %)", "0.50 s (5.0 %)"));
  EXPECT_EQ(ProfileLine(json), "10 s, of which 4 s (40 %) with a backend at work and 6 s (60 %) without");
  for (const std::string& report : {HtmlReport({}, "", json), MarkdownReport({}, "", json)}) {
    EXPECT_THAT(report, HasSubstr("6 s (60 %) without"));
    EXPECT_THAT(report, Not(HasSubstr("<b>|x")));
  }
  for (const char* text : {"", "{", "[]", R"({"wall_s": 0, "backends_s": 0, "phases": []})", R"({"wall_s": "x"})"}) {
    EXPECT_TRUE(ProfileTable(text).rows.empty()) << text;
    EXPECT_EQ(ProfileLine(text), "");
    EXPECT_THAT(HtmlReport({}, "", text), Not(HasSubstr("id=\"profile\"")));
  }
}

TEST(Summary, SeveralDevicesOfABackendAreSeparateColumns) {
  auto a = Make("gpu", "x", "pass"), b = Make("gpu", "x", "pass");
  b.device = "other";
  EXPECT_THAT(VerdictMatrix({a, b}).header, ElementsAre("operator", "dtype", "gpu[gpu-device]", "gpu[other]"));
}

TEST(Summary, PerformanceShowsTheFastestAndPrefersWhatIsNotSuspect) {
  auto suspect = Make("cpu", "fast-but-suspect", "pass", 1e-6);
  suspect.result_class = "suspect";
  const std::vector<Record> records{suspect, Make("cpu", "slow", "pass", 3e-3), Make("cpu", "quick", "pass", 2e-3)};
  const Table t = PerformanceTable(records, 10);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0][1], HasSubstr("2.00 ms"));
  EXPECT_THAT(t.rows[0][1], HasSubstr("(quick)"));
  const Table only_suspect = PerformanceTable({suspect}, 10);
  EXPECT_THAT(only_suspect.rows[0][1], HasSubstr("~~1.00 µs"));
}

TEST(Summary, PerformanceShowsTheFastestWhateverItsClass) {
  auto exact = Make("cpu", "slow", "pass", 3e-3), other = Make("cpu", "quick", "pass", 2e-3);
  exact.result_class = "bit_exact", other.result_class = "within_class";
  EXPECT_THAT(PerformanceTable({exact, other}, 10).rows[0][1], HasSubstr("(quick)"));
  EXPECT_THAT(PerformanceTable({other, exact}, 10).rows[0][1], HasSubstr("(quick)"));
}

TEST(Console, PerformanceHasItsHeadersAboveTheirColumns) {
  const std::string text =
      ConsoleReport({Make("first", "long-name-of-it", "pass", 3e-3), Make("second", "b", "pass", 1e-3)}, {});
  std::string header, row;
  std::istringstream lines(text.substr(text.find("Performance:")));
  std::getline(lines, header);
  std::getline(lines, header);
  std::getline(lines, row);
  EXPECT_EQ(row.substr(header.find("first")).rfind("3.00 ms", 0), 0u) << text;
  EXPECT_EQ(row.substr(header.find("second")).rfind("1.00 ms", 0), 0u) << text;
}

TEST(Console, PerformanceSaysRooflineWhereOneWasMeasured) {
  auto record = Make("cpu", "x", "pass", 1e-3);
  record.roofline_fraction.reset();
  EXPECT_THAT(ConsoleReport({record}, {}), HasSubstr("that passed, median; the largest cases\n"));
  record.roofline_fraction = 0.42;
  EXPECT_THAT(ConsoleReport({record}, {}), HasSubstr("median, share of the roofline; the largest cases\n"));
}

TEST(Summary, PerformanceKeepsDevicesApart) {
  auto a = Make("gpu", "x", "pass", 1e-3), b = Make("gpu", "x", "pass", 2e-3);
  b.device = "other";
  const Table t = PerformanceTable({a, b}, 10);
  EXPECT_THAT(t.header, ElementsAre("case", "gpu[gpu-device]", "gpu[other]"));
  EXPECT_THAT(t.rows[0][2], HasSubstr("2.00 ms"));
}

TEST(Summary, AnUnknownOutcomeIsAFailureThatEveryReportNames) {
  const std::vector<Record> records{Make("cpu", "naive", "melted"), Make("cpu", "naive", "pass")};
  EXPECT_TRUE(IsFailure(records[0]));
  EXPECT_EQ(OutcomeLine(records), "1 melted, 1 pass");
  EXPECT_EQ(VerdictMatrix(records).rows[0][2], "1 melted, 1 pass 0.25");
  EXPECT_THAT(ConsoleReport(records, {}), HasSubstr("because of melted"));
  EXPECT_THAT(MarkdownReport(records), HasSubstr("because of melted"));
  EXPECT_THAT(HtmlReport(records, ""), HasSubstr("because of melted"));
}

TEST(Incomplete, EveryReportSaysSoAndCountsByColumn) {
  std::vector<Record> records{Make("cpu", "naive", "pass"), Make("cpu", "blocked", "missing")};
  for (int seed = 1; seed < 4; ++seed) {
    records.push_back(Make("cpu", seed == 3 ? "naive" : "", seed == 3 ? "pass" : "missing"));
    records.back().case_id += std::to_string(seed);
  }
  const std::string line = "incomplete: 2 of 4 planned cases have no record, 1 has a part of them";
  EXPECT_EQ(IncompleteLine(records), line);
  const std::string console = ConsoleReport(records, {}), markdown = MarkdownReport(records);
  EXPECT_EQ(console.find(line), 0u);
  EXPECT_THAT(console, HasSubstr("\nMissing\nmissing  implementation\n      2  cpu\n      1  cpu:blocked\n"));
  EXPECT_THAT(console, HasSubstr("3 missing, 2 pass"));
  EXPECT_THAT(console, Not(HasSubstr("Failures")));  // one cause: not a line each
  EXPECT_THAT(markdown, HasSubstr("**" + line + "**"));
  EXPECT_THAT(markdown, HasSubstr("| 2 | cpu |\n| 1 | cpu:blocked |\n"));
  const std::string html = HtmlReport(records, "");
  EXPECT_THAT(html, HasSubstr(line));
  EXPECT_THAT(html, HasSubstr("2 of cpu, 1 of cpu:blocked"));
  EXPECT_THAT(html, HasSubstr("Incomplete: 2 results, none failed</h1>"));
  EXPECT_THAT(JunitReport(records, ""), HasSubstr("<property name=\"incomplete\" value=\"" + line));
  EXPECT_EQ(IncompleteLine({records[0]}), "");
  EXPECT_THAT(ConsoleReport({records[0]}, {}), Not(HasSubstr("issing")));
}

TEST(Console, RecordsCannotReachTheTerminal) {
  auto hostile = Make("cpu", "naive", "mismatch");
  hostile.reason = "red \x1b[31m\nassay: 0 failed\xff";
  hostile.device = hostile.case_id = "\u202e\x9b";
  const std::string text = ConsoleReport({hostile}, {});
  EXPECT_THAT(text, HasSubstr("red \\x1b[31m\\nassay: 0 failed\uFFFD\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
}

TEST(Summary, PerformanceShowsNothingOfAResultThatIsWrong) {
  const auto wrong = Make("cpu", "fast-but-wrong", "mismatch", 1e-6);
  auto known = Make("cpu", "known-wrong", "mismatch", 2e-6);
  known.outcome = "known_failure", known.result_class = "suspect";
  const Table t = PerformanceTable({wrong, known, Make("cpu", "slow", "pass", 3e-3)}, 10);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0][1], HasSubstr("(slow)"));
  EXPECT_TRUE(PerformanceTable({wrong, known}, 10).rows.empty());
}

TEST(Console, FailuresComeLastWithAReproductionLine) {
  const std::vector<Record> records{Make("cpu", "naive", "crash"), Make("cpu", "naive", "pass", 1e-3),
                                    Make("x", "", "unsupported")};
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

TEST(Summary, InconclusiveCasesSayWhyOnceEach) {
  std::vector<Record> records{Make("cpu", "naive", "inconclusive"), Make("x", "tiled", "inconclusive"),
                              Make("cpu", "naive", "pass")};
  const std::string text = ConsoleReport(records, {});
  const size_t at = text.find("\nInconclusive: a wrong result would pass\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(InconclusiveTable(records).rows,
              ElementsAre(ElementsAre("2", records[0].case_id, "because of inconclusive")));
  EXPECT_THAT(text.substr(at), HasSubstr("because of inconclusive"));
  for (int i = 0; i < 30; ++i) records.push_back(records[0]), records.back().case_id += std::to_string(i);
  const Table table = InconclusiveTable(records);
  EXPECT_EQ(table.rows.size(), 21u);
  EXPECT_EQ(table.rows.back()[1], "11 more cases, see results.jsonl");
  EXPECT_THAT(ConsoleReport({records[2]}, {}), Not(HasSubstr("Inconclusive")));
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Console, FewFailuresAreListedWithTheGravestFirst) {
  std::vector<Record> records(18, Make("cpu", "naive", "mismatch"));
  for (size_t i = 0; i < records.size(); ++i) records[i].case_id += std::to_string(i);
  records.push_back(Make("cpu", "naive", "crash"));
  records.push_back(Make("cpu", "naive", "melted"));
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
    records.push_back(Make("cpu", "kernel" + std::to_string(i % 30), "mismatch"));
    records.back().case_id += std::to_string(i);
  }
  records.push_back(Make("cpu", "naive", "crash"));
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
      records.push_back(Make(backend, "implementation-of-" + std::string(backend), outcome, 1e-3));
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

TEST(Table, WrapsAtWordsAndBreaksNone) {
  EXPECT_EQ(Wrapped("one two three", 9, 2), "  one two\n  three");
  EXPECT_EQ(Wrapped("a-word-longer-than-the-line b", 8, 0), "a-word-longer-than-the-line\nb");
  EXPECT_EQ(Wrapped("one two", 0, 4), "    one two");
}

TEST(Deciding, TheCheckThatFailedOrCameNearest) {
  Record r = Make("cpu", "naive", "pass");
  r.bound_margin = 0.25, r.stat_margin = 0.5, r.exact_margin = 0;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "statistic 0.50");
  r.stat_margin = 0.125;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 0.25");
  r.verdict = "mismatch", r.bound_margin = 2, r.stat_margin = 9;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 2");
  r.exact_margin = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "exact");
  r.reason = "memory: 8 guard bytes";
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "memory");
  r.verdict = "below_contract", r.reason = "", r.bound_margin = 0.5, r.stat_margin = 0.5, r.exact_margin = 0;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "contract");
  r.bound_margin = 7, r.lower_class = "in=bf16";
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 7");
  for (const char* verdict : {"crash", "unsupported"}) {
    r.verdict = verdict;
    EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "");
  }
  EXPECT_THAT(ConsoleReport({Make("cpu", "naive", "nondeterministic")}, {}), HasSubstr("decided by determinism"));
}

Record Known(const std::string& implementation, const std::string& why) {
  Record r = Make("onednn", implementation, "mismatch");
  r.outcome = "known_failure", r.library_version = r.driver = "oneDNN 2.6.3";
  r.reason = "bound channel: 3 wrong [known: " + why + "]";
  return r;
}

TEST(Known, AReasonStandsOnceWithItsLineInEveryReport) {
  const std::vector<Record> records{Known("a", "loses NaN, always, x.expect:4"),
                                    Known("b", "loses NaN, always, x.expect:4"), Known("c", "overflows, x.expect:5"),
                                    Make("cpu", "naive", "pass")};
  const std::vector<KnownCause> causes = KnownCausesOf(records);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].reason, "loses NaN, always");
  EXPECT_EQ(causes[0].where, "x.expect:4");
  EXPECT_THAT(causes[0].members, ElementsAre(0, 1));
  for (const std::string& report : {ConsoleReport(records, {}), MarkdownReport(records), HtmlReport(records, "")}) {
    EXPECT_THAT(report, HasSubstr("Known failures"));
    EXPECT_THAT(report, HasSubstr("x.expect:5"));
  }
}

TEST(Fault, TheLineNamesAssayOrTheLibraryOrTheDriver) {
  const Record pass = Make("cpu", "naive", "pass");
  EXPECT_EQ(FaultLine({pass}), "Nothing is at fault.");
  EXPECT_EQ(FaultLine({pass, Make("cpu", "b", "missing", 0)}),
            "Nothing is at fault in what ran; 1 results are missing.");
  EXPECT_EQ(
      FaultLine({Known("a", "x, y:1"), pass}),
      "No failure is new. Failures known before: oneDNN 2.6.3, a library on this machine (1 result). assay itself met "
      "no error.");
  Record kernel = Make("opencl", "tiled", "mismatch"), fft = Make("opencl", "vkfft", "crash");
  kernel.driver = fft.driver = "3.1+debian", kernel.library_version = fft.library_version = "VkFFT 1.2.26";
  EXPECT_EQ(
      FaultLine({kernel, kernel, fft}),
      "At fault: the kernels of backend opencl or their driver 3.1+debian (2 results); VkFFT 1.2.26, a library on this "
      "machine (1 result). assay itself met no error.");
  Record driver = Known("a", "x, y:1");
  driver.fault = "driver", driver.driver = "PoCL 3.1", driver.read_on = "https://example.org/proof";
  EXPECT_THAT(FaultLine({driver, pass}), HasSubstr("PoCL 3.1, the driver of backend onednn (1 result)"));
  EXPECT_THAT(ConsoleReport({driver}, {}), HasSubstr("x [y:1]; read on: https://example.org/proof"));
  driver.fault = "assay";
  EXPECT_EQ(FaultLine({driver}), "No failure is new. Failures known before: assay itself (1 result).");
  EXPECT_EQ(FaultLine({Make("assay", "", "error"), pass}), "At fault: assay itself (1 result).");
  EXPECT_EQ(FaultLine({Make("cpu", "", "unsupported")}), "");
  const std::vector<Record> records{kernel};
  for (const std::string& report : {ConsoleReport(records, {}), MarkdownReport(records), HtmlReport(records, "")}) {
    EXPECT_THAT(report, HasSubstr("At fault: the kernels of backend opencl"));
  }
}

TEST(RunNotes, EveryReportNamesTheSeedAndRoundsThatAreMissing) {
  Record whole = Make("cpu", "naive", "pass", 1e-3), cut = whole;
  whole.round_medians_s = "1e-3,1e-3,1e-3", cut.round_medians_s = "1e-3";
  const std::vector<Record> records{whole, cut};
  const std::string environment = R"({"seed": 7, "rounds": 3, "interrupted": true})";
  const std::string rounds =
      "The run asked for 3 rounds of timing (--rounds 3), but 1 of 2 timed results have fewer, down to 1.";
  for (const std::string& report :
       {ConsoleReport(records, {.environment = environment}), MarkdownReport(records, environment),
        HtmlReport(records, environment), JunitReport(records, environment)}) {
    EXPECT_THAT(report, HasSubstr("Every case ran with seed 7 (--seed 7) in place of the suite"));
    EXPECT_THAT(report, HasSubstr("The run was interrupted before its end."));
    EXPECT_THAT(report, HasSubstr(rounds));
  }
  EXPECT_THAT(RunNotes({}, R"({"unknown_processor": "class x is unknown"})"), ElementsAre("class x is unknown"));
  EXPECT_TRUE(RunNotes({whole}, R"({"rounds": 3})").empty());
  EXPECT_TRUE(RunNotes(records, "").empty());
}

TEST(Elements, OnlyWrongOnesAreNamedWithTheirCoordinates) {
  Record r = Make("cpu", "naive", "mismatch");
  r.worst_elements = "21:9:1:0.5;5:2:1:0.75;6:1.25:1:0.5", r.worst_errors = "[2,5]:8;[0,5] imag:1;[0,6]:0.25";
  r.violations = 1, r.nonfinite_mismatch = 1, r.elements = 1;
  ASSERT_EQ(WrongElementsOf(r).rows.size(), 2u);  // the third is within its tolerance
  EXPECT_THAT(WrongElementsOf(r).rows[0], ElementsAre("[2,5]", "9", "1", "0.5"));
  const std::string page = HtmlReport({r}, "");
  EXPECT_THAT(page, HasSubstr("<td>[0,5] imag</td><td>2</td><td>1</td><td>0.75</td>"));
  EXPECT_THAT(page, HasSubstr("1 of 1 element outside"));
  EXPECT_THAT(JunitReport({r}, ""), HasSubstr("&#10;  [2,5] | 9 | 1 | 0.5"));
  // On the data of the case nothing is wrong; the twin has data of its own.
  r.violations = r.nonfinite_mismatch = 0, r.twin_elements = "[1,3]:-16:1:0;[1,4]:nan:2:0";
  EXPECT_THAT(WrongElementsOf(r).header[0], HasSubstr("exact twin"));
  EXPECT_THAT(WrongElementsOf(r).rows,
              ElementsAre(ElementsAre("[1,3]", "-16", "1", "0"), ElementsAre("[1,4]", "nan", "2", "0")));
  const std::string twin = HtmlReport({r}, "");
  const std::string card = twin.substr(twin.find("<article>"), twin.find("</article>") - twin.find("<article>"));
  EXPECT_THAT(card, HasSubstr("<td>[1,3]</td><td>-16</td><td>1</td><td>0</td>"));
  EXPECT_THAT(card, Not(HasSubstr("<td>21</td>")));
  EXPECT_THAT(card, Not(HasSubstr("[2,5]")));
  // Neither: it failed by a relation, say.
  r.twin_elements = "";
  EXPECT_TRUE(WrongElementsOf(r).rows.empty());
  EXPECT_THAT(HtmlReport({r}, ""), Not(HasSubstr("<th scope=\"col\">got</th>")));
  r.violations = std::nullopt;  // of a program that did not count them
  EXPECT_EQ(WrongElementsOf(r).rows.size(), 3u);
}

TEST(Markdown, StaysUnderTheStepSummaryLimitWithManyFailures) {
  auto failing = Make("cpu", "naive", "mismatch");
  failing.reason = std::string(500, 'r');
  const std::string text = MarkdownReport(std::vector<Record>(5000, failing));
  EXPECT_LT(text.size(), 1024u * 1024u);
  EXPECT_THAT(text, HasSubstr("and 4800 more"));
}

TEST(Markdown, StaysUnderTheStepSummaryLimitWithManyReasons) {
  std::vector<Record> records;
  for (int i = 0; i < 5000; ++i) {
    records.push_back(Make("cpu", "", "unsupported"));
    records.back().reason = std::to_string(i) + std::string(500, 'r');
  }
  records.push_back(records[4321]);
  const std::string text = MarkdownReport(records);
  EXPECT_LT(text.size(), 1024u * 1024u);
  EXPECT_THAT(text, HasSubstr("| 2 | cpu | unsupported | 4321r"));
  EXPECT_THAT(text, HasSubstr("| 4800 |  |  | 4800 more reasons"));
}

TEST(Markdown, AReasonStaysOneLineOfText) {
  auto failing = Make("cpu", "naive", "mismatch");
  failing.reason = "alg=winograd<4,3>\n# not a heading <script>";
  const std::string text = MarkdownReport({failing});
  EXPECT_THAT(text, HasSubstr(": alg=winograd&lt;4,3> # not a heading &lt;script>\n"));
}

}  // namespace
}  // namespace assay
