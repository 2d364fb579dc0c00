// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ResultComparison Changed(const std::string& backend, const std::string& op, Change change) {
  ResultComparison r;
  r.case_id = op + "/f32/m=1/fill=normal/seed=0", r.op = op, r.dtype = "f32", r.backend = backend;
  r.implementation = "a", r.column = backend + ":a", r.in_both = true, r.reproduce = "assay run --case x";
  r.changes.push_back(std::move(change));
  return r;
}

Change Regressed(const std::string& why) {
  return {Aspect::kVerdict, Trend::kWorse, "outcome", "pass", "mismatch", std::nullopt, why, true, false};
}
Change Grown() {
  return {Aspect::kMargin, Trend::kWorse, "bound_margin", "0.1", "0.3", 3.0, "", false, false};
}
Change Improved() {
  return {Aspect::kVerdict, Trend::kBetter, "outcome", "mismatch", "pass", std::nullopt, "", false, false};
}

RunComparison Sample() {
  RunComparison c;
  c.base = "out/a", c.now = "out/b";
  c.results = {Changed("cpu", "fft", Improved()), Changed("cpu", "matmul", Grown()),
               Changed("gpu", "matmul", Regressed("100 % wrong,\nsaid \x1b[31mit"))};
  c.notes = {"gpu driver: 1 -> 2"};
  return c;
}

TEST(Comparison, TheGravestComesFirst) {
  const RunComparison c = Sample();
  const auto changed = ChangedResults(c);
  ASSERT_EQ(changed.size(), 3u);
  EXPECT_EQ(changed[0]->backend, "gpu");
  EXPECT_EQ(changed[1]->op, "matmul");
  EXPECT_EQ(changed[2]->op, "fft");
  EXPECT_EQ(ComparisonLine(c), "1 regression; 3 results in both runs, 3 changed (2 worse)");
}

TEST(Comparison, ConsoleEndsWithRegressionsAndObeysNoControlCharacter) {
  const std::string text = ComparisonConsole(Sample(), {});
  EXPECT_THAT(text, HasSubstr("verdict: pass -> mismatch  gpu:a  matmul/f32/m=1/fill=normal/seed=0\n"
                              "    100 % wrong,\\nsaid \\x1b[31mit\n    reproduce: assay run --case x\n"));
  EXPECT_THAT(text, HasSubstr("\nwhat          base  new  new / base  implementation  case\n"
                              "bound_margin   0.1  0.3        3.00  cpu:a "));
  EXPECT_THAT(text, HasSubstr("note: gpu driver: 1 -> 2"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.find("No regression: margins"), text.find("Regressions and lost results"));
}

TEST(Comparison, ATableHasOneUnitInAColumn) {
  RunComparison c = Sample();
  const auto slower = [](const char* base, const char* now, double ratio) {
    return Change{Aspect::kPerformance, Trend::kWorse, "time_median_s", base, now, ratio, "SLOWER", false, false};
  };
  c.results.push_back(Changed("cpu", "conv", slower("0.00015 s", "0.0003 s", 2)));
  c.results.push_back(Changed("cpu", "reduce", slower("0.0021 s", "0.0042 s", 2)));
  size_t left_out = 0;
  const auto kinds = ChangesByKind(ChangedResults(c), 99, left_out);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].table.rows.size(), 2u);  // verdicts
  EXPECT_EQ(kinds[1].heading, "times");
  EXPECT_EQ(kinds[1].table.header[0], "base, ms");
  EXPECT_EQ(kinds[1].table.rows[0][0], "0.15");
  EXPECT_EQ(kinds[1].table.rows[1], (std::vector<std::string>{"2.1", "4.2", "+100.0 %", "SLOWER", "cpu:a",
                                                              "reduce/f32/m=1/fill=normal/seed=0"}));
  EXPECT_EQ(kinds[2].heading, "margins");
  EXPECT_EQ(ChangesByKind(ChangedResults(c), 2, left_out).size(), 2u);
  EXPECT_EQ(left_out, 3u);
}

TEST(Comparison, RegressionsStandLastAlsoOnANarrowTerminal) {
  const std::string text = ComparisonConsole(Sample(), {.colour = true, .width = 60});
  EXPECT_GT(text.find("Regressions and lost results"), text.find("Results by backend and operator"));
  EXPECT_THAT(text, HasSubstr("\x1b[1mRegressions and lost results\x1b[0m\n\x1b[31mverdict: pass -> mismatch"));
  EXPECT_THAT(text, HasSubstr("\nbound_margin   0.1  0.3        3.00  cpu:a\n    matmul/f32/m=1/fill=normal/seed=0\n"));
}

TEST(Comparison, SummaryCountsResultsAndLeavesOutEmptyColumns) {
  const Table table = ComparisonSummary(Sample());
  EXPECT_EQ(table.header, (std::vector<std::string>{"backend", "operator", "in both", "regressions", "verdict worse",
                                                    "better", "margin up"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"cpu", "matmul", "1", "-", "-", "-", "1"}));
  EXPECT_EQ(table.rows[2], (std::vector<std::string>{"gpu", "matmul", "1", "1", "1", "-", "-"}));
}

TEST(Comparison, ListsSayHowMuchTheyLeaveOut) {
  RunComparison c = Sample();
  for (int i = 0; i < 5; ++i) c.results.push_back(Changed("cpu", "conv", Grown()));
  EXPECT_THAT(ComparisonConsole(c, {false, 3}), HasSubstr("... and 4 more"));
}

TEST(Comparison, AnnotationsAreOneLinePerBackendAndOperatorWithEscapes) {
  RunComparison c = Sample();
  c.results.push_back(Changed("gpu:0,x", "matmul", Grown()));
  const std::string text = ComparisonAnnotations(c);
  EXPECT_THAT(text,
              StartsWith("::error title=assay compare%3A matmul on gpu::1 of 1 changed results regressed or lost%0A"
                         "verdict: pass -> mismatch 100 %25 wrong,%0Asaid"));
  EXPECT_THAT(text, HasSubstr("\n::warning title=assay compare%3A matmul on cpu::"));
  EXPECT_THAT(text, HasSubstr("\n::warning title=assay compare%3A matmul on gpu%3A0%2Cx::"));
  EXPECT_THAT(text, HasSubstr("\n::notice title=assay compare%3A fft on cpu::"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(ComparisonAnnotations(RunComparison()), "");
}

TEST(Comparison, GroupsAreShownAndThoseThatRegressed) {
  RunComparison c = Sample();
  TimeComparison time{TimeVerdict::kSlower, 1.1, 1.08, 1.12, true, 0.001, 0.9, 12, 12, ""};
  c.groups = {{"gpu", "D", "", 9, time, false}, {"gpu", "D", "fft", 4, time, true}};
  const Table table = GroupsTable(c);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0],
            (std::vector<std::string>{"gpu", "all", "9", "12", "+10.0 %", "+8.0 % to +12.0 %", "SLOWER"}));
  EXPECT_EQ(table.rows[1][6], "SLOWER, a regression");
  EXPECT_THAT(ComparisonConsole(c, {}), HasSubstr("SLOWER, a regression"));
  EXPECT_THAT(ComparisonMarkdown(c), HasSubstr("| gpu | fft | 4 | 12 | +10.0 % | +8.0 % to +12.0 % |"));
  EXPECT_THAT(ComparisonLine(c), StartsWith("1 regression, 1 operator slower as a whole; "));
  EXPECT_THAT(ComparisonAnnotations(c), StartsWith("::error title=assay compare%3A fft on gpu as a whole::"));
  const auto json = nlohmann::json::parse(ComparisonJson(c, 1));
  EXPECT_EQ(json["groups"][1]["op"], "fft");
  EXPECT_EQ(json["groups"][1]["regression"], true);
  EXPECT_EQ(json["groups"][1]["time"]["verdict"], "SLOWER");
  c.groups[0].time.bounded = false;
  EXPECT_EQ(GroupsTable(c).rows[0][5], "-");
}

TEST(Comparison, InvalidTimesAreShownAndHaveNoRatio) {
  Change change;
  change.aspect = Aspect::kInvalidTime, change.field = "timing_invalid", change.trend = Trend::kWorse;
  change.base = "valid", change.now = "INVALID", change.detail = "new: 2 s of 1 s";
  RunComparison c;
  c.results.push_back(Changed("gpu", "matmul", change));
  c.results[0].time.verdict = TimeVerdict::kInvalid, c.results[0].time.why = change.detail;
  EXPECT_THAT(ComparisonLine(c), HasSubstr("1 result with a time that cannot be true: INVALID"));
  EXPECT_THAT(ComparisonLine(c), testing::Not(HasSubstr("compared")));
  EXPECT_THAT(ComparisonConsole(c, {}), HasSubstr("INVALID"));
  EXPECT_THAT(ComparisonConsole(c, {}), HasSubstr("2 s of 1 s"));
  EXPECT_THAT(ComparisonMarkdown(c), HasSubstr("| timing_invalid | valid | INVALID |"));
  EXPECT_THAT(ComparisonSummary(c).header, testing::Contains("time invalid"));
  const auto json = nlohmann::json::parse(ComparisonJson(c, 0));
  EXPECT_EQ(json["results"][0]["time"]["verdict"], "INVALID");
  EXPECT_TRUE(json["results"][0]["time"]["ratio"].is_null());
  EXPECT_EQ(json["results"][0]["changes"][0]["aspect"], "invalid time");
}

TEST(Comparison, NoMoreThanTenAnnotationsOfALevelAndTheLastNamesTheRest) {
  RunComparison c;
  for (int i = 0; i < 13; ++i) c.results.push_back(Changed("cpu", fmt::format("op{:02}", i), Grown()));
  const std::string text = ComparisonAnnotations(c);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, HasSubstr("::4 more:%0Aop09 on cpu%0Aop10 on cpu%0Aop11 on cpu%0Aop12 on cpu\n"));
}

TEST(Comparison, MarkdownStaysBelowTheLimitOfACommentAndBreaksNoTable) {
  RunComparison c = Sample();
  c.results.push_back(Changed("a|b", "conv", Grown()));
  EXPECT_THAT(ComparisonMarkdown(c), HasSubstr("| a\\|b:a |"));
  for (int i = 0; i < 20000; ++i) c.results.push_back(Changed("cpu", "conv", Grown()));
  EXPECT_LT(ComparisonMarkdown(c).size(), 65'536U);
  EXPECT_THAT(ComparisonMarkdown(c), HasSubstr("see `assay compare --json`"));
}

TEST(Comparison, JsonHoldsEveryResultAndNoBareInfinity) {
  RunComparison c = Sample();
  c.results[1].changes[0].amount = std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(ComparisonJson(c, 1));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["results"].size(), 3u);
  EXPECT_TRUE(json["results"][1]["changes"][0]["amount"].is_null());
  EXPECT_EQ(json["results"][2]["changes"][0]["regression"], true);
  EXPECT_FALSE(json["results"][0].contains("time"));
}

}  // namespace
}  // namespace assay
