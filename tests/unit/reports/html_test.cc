// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/html/html_parts.h"
#include "reports/verdicts.h"
#include "tests/unit/reports/sample.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

nlohmann::json EmbeddedRecords(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t start = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
}

TEST(Html, NothingFromARecordBecomesMarkup) {
  const std::string hostile = "</script><script>alert(1)</script><!-- <img src=x onerror='a' \"b\">";
  Record r;
  r.case_id = r.op = r.dtype = r.backend = r.device = r.driver = r.library_version = r.implementation = hostile;
  r.contract = r.required_contract = r.reason = r.reproduce = r.tags = r.timestamp = r.tool_version = hostile;
  r.worst_elements = hostile, r.margin_histogram = hostile, r.verdict = r.outcome = "mismatch";
  r.time_median_s = 1e-3;
  Record absent = r;
  absent.outcome = "unavailable", absent.implementation = "";
  const nlohmann::json environment = {{hostile, hostile}};
  const std::string page = HtmlReport({r, absent}, environment.dump());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(Count(page, "</script>"), 2u);  // the data and the script of the page itself
  EXPECT_EQ(EmbeddedRecords(page)["common"]["reason"], hostile);
}

TEST(Html, APageOfManyResultsHasWhatIsRemarkableAndSomeOfTheOthers) {
  std::vector<Record> records(100);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].case_id = fmt::format("case {}", i);
    records[i].verdict = records[i].outcome = i % 3 == 0 ? "unsupported" : "pass";
  }
  for (const size_t i : {7, 50, 99}) records[i].outcome = "mismatch";
  records[20].result_class = "suspect", records[31].timing_invalid = "too fast";
  EXPECT_EQ(html::ChooseRows(records, 100).size(), 100u);
  for (const size_t most : {5, 6, 20, 60, 99}) {
    const std::vector<size_t> rows = html::ChooseRows(records, most);
    EXPECT_LE(rows.size(), most);
    EXPECT_GE(rows.size(), most / 2);
    EXPECT_TRUE(std::ranges::is_sorted(rows));
    for (const size_t i : {7, 20, 31, 50, 99}) EXPECT_THAT(rows, testing::Contains(i)) << most;
  }
  EXPECT_THAT(html::ChooseRows(records, 2), testing::ElementsAre(7, 20));
}

TEST(Html, ThePageSaysWhatItLeavesOut) {
  const std::vector<Record> records(html::Page::kMostRows + 10, [] {
    Record r;
    r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.backend = "cpu", r.verdict = r.outcome = "pass";
    return r;
  }());
  const std::string page = HtmlReport(records, "");
  EXPECT_THAT(page, HasSubstr("The table has 25005 of 50010 results"));
  EXPECT_EQ(EmbeddedRecords(page)["rows"].size(), 25005u);
  EXPECT_EQ(EmbeddedRecords(page)["left_out"], 25005);
}

TEST(Html, AnOutcomeOfTheFutureIsCountedAndShownEverywhere) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "melted";
  const std::string page = HtmlReport({r, r}, "");
  const std::string header = page.substr(page.find("<header>"), page.find("</header>") - page.find("<header>"));
  EXPECT_THAT(header, HasSubstr("2 of 2 results failed"));
  EXPECT_THAT(header, HasSubstr("<i class=\"broken\" style=\"flex:2\"></i>"));
  EXPECT_THAT(header, HasSubstr("href=\"#verdict=melted\""));
  EXPECT_THAT(page, HasSubstr("name=\"outcome\" value=\"melted\" checked"));
  EXPECT_THAT(page, HasSubstr("<em>x</em> 2 melted</span>"));  // the matrix
}

TEST(Html, OneIsNoPlural) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "mismatch", r.time_median_s = 1e-3, r.elements = r.violations = 1;
  const std::string one = HtmlReport({r}, R"({"cpu": "Example", "cores": 1})");
  for (const char* text :
       {"1 of 1 result failed", "1 case, 1 result<", "1 timed case<", "1 of 1 element outside", "Example, 1 core<"}) {
    EXPECT_THAT(one, HasSubstr(text));
  }
  r.verdict = r.outcome = "pass";
  EXPECT_THAT(HtmlReport({r}, ""), HasSubstr("The only result has not failed"));
  Record other = r;
  other.case_id += "1";
  EXPECT_THAT(HtmlReport({r, other}, ""), HasSubstr("2 cases, 2 results<"));
}

TEST(Html, WhatWasNotMeasuredHasNoColumn) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "pass", r.time_median_s = 1e-3;
  const std::string warm = HtmlReport({r}, "");
  EXPECT_THAT(warm, HasSubstr("<div class=\"no-cold no-roofline\" style"));
  EXPECT_THAT(warm, HasSubstr("assay run --cold --roofline"));
  EXPECT_THAT(warm, Not(HasSubstr("the median with cold caches")));
  r.time_cold_median_s = 2e-3;
  EXPECT_THAT(HtmlReport({r}, ""), HasSubstr("<div class=\"no-roofline\" style"));
  r.roofline_fraction = 0.5;
  const std::string all = HtmlReport({r}, "");
  EXPECT_THAT(all, HasSubstr("<div class=\"\" style"));
  EXPECT_THAT(all, HasSubstr("the median with cold caches"));
  EXPECT_THAT(all, Not(HasSubstr("measures more")));
}

TEST(Html, KnownFailuresAreInTheHeadline) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = "mismatch", r.outcome = "known_failure";
  EXPECT_THAT(HtmlReport({r, r}, ""), HasSubstr("None of 2 results failed, apart from 2 known failures</h1>"));
}

Record Result(const std::string& implementation, const std::string& outcome, double margin) {
  Record r;
  r.case_id = "fft/f32/n=8,axes=1+2/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = implementation, r.verdict = r.outcome = outcome, r.bound_margin = margin;
  return r;
}

std::string SectionOf(const std::string& page, const std::string& id) {
  const size_t begin = page.find("<section id=\"" + id + "\"");
  return begin == page.npos ? "" : page.substr(begin, page.find("</section>", begin) - begin);
}

TEST(Html, FailuresStandBeforeKnownOnesAndTheMatrix) {
  Record known = Result("x", "mismatch", 3);
  known.outcome = "known_failure", known.known_reason = "rounds twice", known.known_where = "a/b.expect:7";
  const std::string page = HtmlReport({Result("a", "pass", .5), known, Result("b", "mismatch", 2)}, "");
  EXPECT_LT(page.find("<section id=\"failures\""), page.find("<section id=\"known\""));
  EXPECT_LT(page.find("<section id=\"known\""), page.find("<section id=\"verdicts\""));
  const std::string section = SectionOf(page, "known");
  EXPECT_THAT(section, HasSubstr("rounds twice</span>"));
  EXPECT_THAT(section, HasSubstr("a/b.expect:7"));
  EXPECT_THAT(section, Not(HasSubstr("1 wrong")));
  EXPECT_EQ(SectionOf(HtmlReport({Result("a", "pass", .5)}, ""), "known"), "");
}

TEST(Html, ImplementationsThatOnlyPassAreFolded) {
  std::vector<Record> records{Result("a", "pass", .25), Result("b", "pass", .5), Result("c", "mismatch", 2)};
  const std::string matrix = SectionOf(HtmlReport(records, ""), "verdicts");
  const size_t folded = matrix.find("<details class=\"passing\">"), end = matrix.find("</details>");
  ASSERT_NE(folded, matrix.npos);
  EXPECT_THAT(matrix.substr(folded, end - folded), HasSubstr("<em>2 implementations</em> 2 pass"));
  EXPECT_THAT(matrix.substr(folded, end - folded), HasSubstr("</i>0.50</span></summary>"));
  EXPECT_LT(matrix.find("<em>c</em>"), folded);
  EXPECT_GT(matrix.find("<em>a</em>"), folded);
  records[0].result_class = "suspect";  // not merely a pass
  EXPECT_THAT(SectionOf(HtmlReport(records, ""), "verdicts"), Not(HasSubstr("class=\"passing\"")));
}

TEST(Html, SeveralOutputsAreInTheDetailsOfARecord) {
  Record r = Result("a", "mismatch", 4);
  r.worst_output = "mean";
  r.outputs.resize(2);
  r.outputs[0].name = "y", r.outputs[0].verdict = "pass", r.outputs[0].result_class = "within_class";
  r.outputs[0].bound_margin = .25, r.outputs[0].exact_margin = 0;
  r.outputs[1].name = "mean", r.outputs[1].verdict = "mismatch", r.outputs[1].result_class = "none";
  r.outputs[1].bound_margin = 4;
  EXPECT_THAT(HtmlReport({r}, ""), HasSubstr("y:pass:within_class:0.25:0:::;mean:mismatch:none:4::::"));
}

TEST(Html, LinksNameTheCaseAndTheFilter) {
  const std::string page = HtmlReport({Result("a&b", "mismatch", 2)}, "");
  EXPECT_THAT(page, HasSubstr("href=\"#case=fft/f32/n=8,axes=1%2B2/fill=normal/seed=0&amp;on=cpu:a%26b\""));
  EXPECT_THAT(page, HasSubstr("href=\"#op=fft&amp;dtype=f32&amp;impl=cpu:a%26b\""));
  EXPECT_THAT(page, Not(HasSubstr("href=\"#r0\"")));
}

TEST(Html, BarsOfMarginsAndTimesHaveOneScaleEach) {
  Record slow = Result("a", "pass", .25), quick = Result("b", "pass", .5);
  slow.time_median_s = .02, quick.time_median_s = 3e-6;
  slow.case_id += "1";  // another case
  const std::string page = HtmlReport({slow, quick}, "");
  EXPECT_THAT(page, HasSubstr("<i style=\"width:90.0%\"></i>0.50"));  // of 2^-10 to 1, as in the table of results
  EXPECT_THAT(page, HasSubstr("from 1.00 µs to 100.00 ms"));
  EXPECT_THAT(page, HasSubstr("style=\"--decades:5\""));
  EXPECT_THAT(page, HasSubstr("<circle cx=\"86.02%\""));
  EXPECT_THAT(page, HasSubstr("<circle cx=\"9.54%\""));
  EXPECT_THAT(page, Not(HasSubstr("<rect y=")));
}

TEST(Html, EveryTermThatIsUsedIsExplained) {
  const std::string page = HtmlReport(sample::SampleRecords(300), sample::SampleEnvironment());
  size_t used = 0;
  for (size_t at = page.find("href=\"#term-"); at != page.npos; at = page.find("href=\"#term-", at + 1), ++used) {
    const size_t begin = at + 7, end = page.find('"', begin);
    EXPECT_THAT(page, HasSubstr("<div id=\"" + page.substr(begin, end - begin) + "\"><dt>"));
    EXPECT_NE(page.substr(end, 10), "\" title=\"\"");  // its definition
  }
  EXPECT_GT(used, 4u);
  const std::string legend = SectionOf(page, "legend");
  for (const char* term : {"channel", "twin", "contract", "class", "relation", "tier", "suspect"}) {
    EXPECT_THAT(legend, HasSubstr(std::string("<div id=\"term-") + term + "\"><dt>" + term + "</dt><dd>"));
  }
}

TEST(Html, NotRunCountsResults) {
  const std::string page = HtmlReport({Result("", "unsupported", 0), Result("", "unsupported", 0)}, "");
  EXPECT_THAT(SectionOf(page, "not-run"), HasSubstr("<th scope=\"col\">results</th>"));
}

TEST(Html, LoadsNothing) {
  const std::string page = HtmlReport(sample::SampleRecords(50), sample::SampleEnvironment());
  for (const char* loading : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_THAT(page, Not(HasSubstr(loading))) << loading;
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, EssentialsNeedNoScript) {
  const std::string page = HtmlReport(sample::SampleRecords(300), sample::SampleEnvironment());
  const std::string still = page.substr(0, page.find("<script"));
  for (const char* text : {"results failed", "class=\"matrix\"", "class=\"cluster\"", "no Vulkan device", "Example CPU",
                           "assay run --case", "class=\"perf\"", "</s>", "How to read this"}) {
    EXPECT_THAT(still, HasSubstr(text));
  }
  for (const VerdictStyle& style : VerdictStyles()) EXPECT_THAT(still, HasSubstr(style.name));
}

TEST(Html, EveryRecordIsEmbedded) {
  const auto records = sample::SampleRecords(300);
  const nlohmann::json data = EmbeddedRecords(HtmlReport(records, ""));
  ASSERT_EQ(data["rows"].size(), records.size());
  const auto key = std::find(data["keys"].begin(), data["keys"].end(), "case_id") - data["keys"].begin();
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(data["texts"][data["rows"][i][key].get<size_t>()], records[i].case_id);
  }
}

TEST(Html, ThousandsOfRecordsStaySmallAndOutOfTheDocument) {
  const std::string page = HtmlReport(sample::SampleRecords(5000), "");
  EXPECT_LT(page.size(), 6u << 20);
  EXPECT_LT(Count(page.substr(0, page.find("<script")), "<tr"), 3000u);
}

TEST(Html, AnEmptyRunIsAPage) {
  const std::string page = HtmlReport({}, "");
  EXPECT_THAT(page, HasSubstr("Nothing ran"));
  EXPECT_THAT(page, HasSubstr("</html>"));
}

TEST(Verdicts, TheGravestComesFirstAndAllAreKnown) {
  EXPECT_LT(GravityOf("crash"), GravityOf("mismatch"));
  EXPECT_LT(GravityOf("inconclusive"), GravityOf("pass"));
  EXPECT_EQ(StyleOf("of the future").tone, "broken");
}

}  // namespace
}  // namespace assay
