// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/html/html_parts.h"
#include "reports/verdicts.h"
#include "tests/unit/reports/page_data.h"
#include "tests/unit/reports/sample.h"

namespace assay {
namespace {

using test::PageData;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Html, NothingFromARecordBecomesMarkup) {
  const std::string hostile = "</script><script>alert(1)</script><!-- <img src=x onerror='a' \"b\">";
  Record r;
  r.case_id = r.op = r.dtype = r.backend = r.device = r.driver = r.library_version = r.implementation = hostile;
  r.contract = r.required_contract = r.reason = r.reproduce = r.tags = r.timestamp = r.tool_version = hostile;
  r.worst_elements = hostile, r.error_map = hostile, r.margin_histogram = hostile, r.verdict = r.outcome = "mismatch";
  r.time_median_s = 1e-3;
  Record absent = r;
  absent.outcome = "unavailable", absent.implementation = "";
  const Json environment = {{hostile, hostile}};
  const std::string page = HtmlReport({r, absent}, environment.dump());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(Count(page, "</script>"), 2u);  // the data and the script of the page itself
  EXPECT_EQ(PageData(page)["common"]["reason"], hostile);
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
  EXPECT_THAT(html::ChooseRows(records, 2), ElementsAre(7, 20));
  EXPECT_THAT(html::ChooseRows(records, 2, {61}), ElementsAre(7, 20, 61));
  EXPECT_THAT(html::ChooseRows(records, 1, {61, 99}), ElementsAre(7, 61, 99));
}

TEST(Html, ThePageSaysWhatItLeavesOutAndHasEveryRecordThatItNames) {
  std::vector<Record> records(html::kMostRows + 10, [] {
    Record r;
    r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.backend = "cpu", r.verdict = r.outcome = "pass";
    return r;
  }());
  EXPECT_EQ(PageData(HtmlReport(records, ""))["rows"].size(), 25005u);
  for (const size_t named : {4u, 50'005u}) records[named].time_median_s = 1e-3;
  const Json data = PageData(HtmlReport(records, ""));
  const Json& places = data["places"];
  EXPECT_EQ(places.size(), data["rows"].size());
  EXPECT_EQ(data["rows"].size() + data["left_out"].get<size_t>(), records.size());
  for (const Json& result : data["timed"][0]["cases"][0]) {
    EXPECT_NE(std::find(places.begin(), places.end(), result), places.end()) << result;
  }
}

TEST(Html, AnOutcomeOfTheFutureIsCountedAndShownEverywhere) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "melted";
  const Json data = PageData(HtmlReport({r, r}, ""));
  const Json counts = Json::array({Json::array({"melted", 2})});
  EXPECT_THAT(data["headline"], ElementsAre("bad", "✗", "2 of 2 results failed"));
  EXPECT_EQ(data["counts"], counts);
  EXPECT_EQ(data["matrix"]["lines"][0]["counts"], counts);
  EXPECT_EQ(data["failures"][0]["count"], 2);
}

TEST(Html, OneIsNoPlural) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "mismatch";
  const Json one = PageData(HtmlReport({r}, ""));
  EXPECT_EQ(one["headline"][2], "1 of 1 result failed");
  EXPECT_EQ(one["ran"], "1 case, 1 result");
  r.verdict = r.outcome = "pass";
  EXPECT_EQ(PageData(HtmlReport({r}, ""))["headline"][2], "The only result has not failed");
  Record other = r;
  other.case_id += "1";
  EXPECT_EQ(PageData(HtmlReport({r, other}, ""))["ran"], "2 cases, 2 results");
}

TEST(Html, KnownFailuresAreInTheHeadline) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = "mismatch", r.outcome = "known_failure";
  EXPECT_EQ(PageData(HtmlReport({r, r}, ""))["headline"][2], "None of 2 results failed, apart from 2 known failures");
}

Record Result(const std::string& implementation, const std::string& outcome, double margin) {
  Record r;
  r.case_id = "fft/f32/n=8,axes=1+2/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = implementation, r.verdict = r.outcome = outcome, r.bound_margin = margin;
  return r;
}

TEST(Html, KnownFailuresStandBesideTheOthersByCause) {
  Record known = Result("x", "mismatch", 3);
  known.outcome = "known_failure", known.known_reason = "rounds twice", known.known_where = "a/b.expect:7";
  const Json data = PageData(HtmlReport({Result("a", "pass", .5), known, Result("b", "mismatch", 2)}, ""));
  ASSERT_EQ(data["known"].size(), 1u);
  const Json& cause = data["known"][0];
  EXPECT_EQ(cause["reason"], "rounds twice");
  EXPECT_EQ(cause["note"], "a/b.expect:7");
  EXPECT_THAT(cause["shown"], ElementsAre(1));
  ASSERT_EQ(data["failures"].size(), 1u);
  EXPECT_EQ(data["failures"][0]["shown"][0]["record"], 2);
  EXPECT_TRUE(PageData(HtmlReport({Result("a", "pass", .5)}, ""))["known"].empty());
}

TEST(Html, TheMatrixHasALineForEachImplementation) {
  std::vector<Record> records{Result("b", "pass", .25), Result("b", "pass", .5), Result("a", "mismatch", 2)};
  records[0].result_class = "suspect";
  const Json matrix = PageData(HtmlReport(records, ""))["matrix"];
  EXPECT_THAT(matrix["backends"], ElementsAre("cpu"));
  ASSERT_EQ(matrix["lines"].size(), 2u);
  EXPECT_EQ(matrix["lines"][0].dump(),
            R"({"op":"fft","dtype":"f32","backend":"cpu","name":"a","counts":[["mismatch",1]]})");
  EXPECT_EQ(matrix["lines"][1]["counts"], Json::array({Json::array({"pass", 2})}));
  EXPECT_EQ(matrix["lines"][1]["suspect"], 1);
  EXPECT_EQ(matrix["lines"][1]["margin"], .5);
  EXPECT_EQ(matrix["lines"][1]["margin_text"], "0.50");
}

TEST(Html, AFailureNamesTheFirstResultsAndTheirWrongElements) {
  std::vector<Record> records(3, Result("a", "mismatch", 2));
  records[0].worst_elements = "1:9:1:0.5;2:9:1:0.5;3:9:1:0.5;4:9:1:0.5";
  records[0].violations = 4;
  const Json failures = PageData(HtmlReport(records, ""))["failures"];
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0]["count"], 3);
  ASSERT_EQ(failures[0]["shown"].size(), 2u);
  const Json& first = failures[0]["shown"][0];
  EXPECT_EQ(first["decided"], "bound 2");
  ASSERT_EQ(first["rows"].size(), 3u);
  EXPECT_THAT(first["rows"][0], ElementsAre("1", "9", "1", "0.5"));
}

TEST(Html, TimedCasesStandByWorkTheLargestFirst) {
  std::vector<Record> records;
  for (int i = 0; i < 70; ++i) {
    records.push_back(Result("a", "pass", .5));
    records.back().case_id += std::to_string(i), records.back().time_median_s = 1e-3, records.back().flops = i;
  }
  records.push_back(records.front()), records.back().implementation = "b";
  records.push_back(Result("untimed", "pass", .5));
  records.front().flops = records[70].flops = 1e9;
  const Json timed = PageData(HtmlReport(records, ""))["timed"];
  ASSERT_EQ(timed.size(), 1u);
  EXPECT_EQ(timed[0]["count"], 70);
  ASSERT_EQ(timed[0]["cases"].size(), 60u);
  EXPECT_THAT(timed[0]["cases"][0], ElementsAre(0, 70));
  EXPECT_THAT(timed[0]["cases"][1], ElementsAre(69));
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

TEST(Html, NotRunCountsResults) {
  const Json data = PageData(HtmlReport({Result("", "unsupported", 0), Result("", "unsupported", 0)}, ""));
  ASSERT_EQ(data["not_run"].size(), 1u);
  EXPECT_EQ(data["not_run"][0][0], "2");
}

TEST(Html, LoadsNothing) {
  const std::string page = HtmlReport(sample::SampleRecords(50), sample::SampleEnvironment());
  for (const char* loading : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_THAT(page, Not(HasSubstr(loading))) << loading;
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, WithoutScriptsItNamesTheOtherReports) {
  const std::string page = HtmlReport(sample::SampleRecords(300), sample::SampleEnvironment());
  const size_t begin = page.find("<noscript>"), end = page.find("</noscript>");
  ASSERT_LT(begin, end);
  EXPECT_THAT(page.substr(begin, end - begin), AllOf(HasSubstr("summary.md"), HasSubstr("results.jsonl")));
  EXPECT_THAT(page, HasSubstr("<title>assay: 4 crash, 3 timeout"));
}

TEST(Html, EveryRecordIsEmbedded) {
  const auto records = sample::SampleRecords(300);
  const Json data = PageData(HtmlReport(records, ""));
  ASSERT_EQ(data["rows"].size(), records.size());
  const auto key = std::find(data["keys"].begin(), data["keys"].end(), "case_id") - data["keys"].begin();
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(data["texts"][data["rows"][i][key].get<size_t>()], records[i].case_id);
  }
}

TEST(Html, ThousandsOfRecordsStaySmallAndOutOfTheDocument) {
  const std::string page = HtmlReport(sample::SampleRecords(5000), "");
  EXPECT_LT(page.size(), 6u << 20);
  EXPECT_LT(page.find("<script"), 20'000u);
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
