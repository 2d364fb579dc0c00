// SPDX-License-Identifier: Apache-2.0
// Facts about a run that every report must state: results that are missing, seeds and rounds, where time went.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reports/console.h"
#include "reports/html/html.h"
#include "reports/incomplete.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/profile.h"
#include "reports/run_notes.h"
#include "reports/table.h"
#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Incomplete, EveryReportSaysSoAndCountsByColumn) {
  std::vector<Record> records{MakeRecord("cpu", "naive", "pass"), MakeRecord("cpu", "blocked", "missing")};
  for (int seed = 1; seed < 4; ++seed) {
    records.push_back(MakeRecord("cpu", seed == 3 ? "naive" : "", seed == 3 ? "pass" : "missing"));
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
  EXPECT_THAT(html, HasSubstr("Incomplete: 2 results, none failed\""));
  EXPECT_THAT(JunitReport(records, ""), HasSubstr("<property name=\"incomplete\" value=\"" + line));
  EXPECT_EQ(IncompleteLine({records[0]}), "");
  EXPECT_THAT(ConsoleReport({records[0]}, {}), Not(HasSubstr("issing")));
}

TEST(RunNotes, EveryReportNamesTheSeedAndRoundsThatAreMissing) {
  Record whole = MakeRecord("cpu", "naive", "pass", 1e-3), cut = whole;
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
  EXPECT_THAT(RunNotes({}, R"({"published_seed": true})"),
              ElementsAre(AllOf(HasSubstr("`assay conform`"), HasSubstr("--seed random"))));
  EXPECT_THAT(RunNotes({}, R"({"unknown_processor": "class x is unknown"})"), ElementsAre("class x is unknown"));
  EXPECT_THAT(RunNotes({}, R"({"unnamed_libraries": "x has loaded y"})"), ElementsAre("x has loaded y"));
  EXPECT_THAT(RunNotes({}, R"({"launch_us": "gpu=200"})"), ElementsAre(HasSubstr("took gpu=200 us beside it")));
  EXPECT_TRUE(RunNotes({whole}, R"({"rounds": 3})").empty());
  EXPECT_TRUE(RunNotes(records, "").empty());
}

TEST(RunNotes, EveryReportCountsWhatWasNotJudged) {
  Record open = MakeRecord("cpu", "naive", "pass"), wrong = MakeRecord("cpu", "naive", "mismatch"), whole = open;
  open.not_judged = 3, wrong.not_judged = 5, whole.not_judged = 0;
  const std::vector<Record> records{open, wrong, whole};
  for (const std::string& report :
       {ConsoleReport(records, {}), MarkdownReport(records), HtmlReport(records, ""), JunitReport(records, "")}) {
    EXPECT_THAT(report, HasSubstr("3 elements of 1 result that passed were not judged"));
  }
  EXPECT_TRUE(RunNotes({whole, wrong}, "").empty());
}

TEST(RunNotes, ARunThatDidNotBeginSaysWhyAndIsAnErrorForItsServer) {
  const std::string environment = R"({"required_absent": "quantum: no such <backend>"})";
  EXPECT_THAT(MarkdownReport({}, environment),
              HasSubstr("Nothing ran. Required and absent: quantum: no such &lt;backend"));
  EXPECT_THAT(HtmlReport({}, environment),
              HasSubstr("Nothing ran. Required and absent: quantum: no such \\u003cbackend"));
  const std::string junit = JunitReport({}, environment);
  EXPECT_THAT(junit, HasSubstr("<testsuites name=\"assay\" tests=\"1\" failures=\"0\" errors=\"1\""));
  EXPECT_THAT(junit, HasSubstr("message=\"required and absent: quantum: no such &lt;backend&gt;\"/>"));
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
  EXPECT_THAT(HtmlReport({}, "", json), HasSubstr("\"profile\":"));
  for (const char* text : {"", "{", "[]", R"({"wall_s": 0, "backends_s": 0, "phases": []})", R"({"wall_s": "x"})"}) {
    EXPECT_TRUE(ProfileTable(text).rows.empty()) << text;
    EXPECT_EQ(ProfileLine(text), "");
    EXPECT_THAT(HtmlReport({}, "", text), Not(HasSubstr("\"profile\":")));
  }
}

}  // namespace
}  // namespace assay
