// SPDX-License-Identifier: Apache-2.0
#include "reports/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(Html, AnOutcomeOfTheFutureIsCountedAndShownEverywhere) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = r.outcome = "melted";
  const std::string page = HtmlReport({r, r}, "");
  const std::string header = page.substr(page.find("<header>"), page.find("</header>") - page.find("<header>"));
  EXPECT_THAT(header, HasSubstr("2 of 2 results failed"));
  EXPECT_THAT(header, HasSubstr("<i class=\"broken\" style=\"flex:2\"></i>"));
  EXPECT_THAT(header, HasSubstr("data-outcome=\"melted\""));
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
  EXPECT_THAT(warm, HasSubstr("<div class=\"no-cold no-roofline\">"));
  EXPECT_THAT(warm, HasSubstr("assay run --cold --roofline"));
  EXPECT_THAT(warm, Not(HasSubstr("the median with cold caches")));
  r.time_cold_median_s = 2e-3;
  EXPECT_THAT(HtmlReport({r}, ""), HasSubstr("<div class=\"no-roofline\">"));
  r.roofline_fraction = 0.5;
  const std::string all = HtmlReport({r}, "");
  EXPECT_THAT(all, HasSubstr("<div class=\"\">\n"));
  EXPECT_THAT(all, HasSubstr("the median with cold caches"));
  EXPECT_THAT(all, Not(HasSubstr("measures more")));
}

TEST(Html, KnownFailuresAreInTheHeadline) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0", r.op = "fft", r.dtype = "f32", r.backend = "cpu";
  r.implementation = "x", r.verdict = "mismatch", r.outcome = "known_failure";
  EXPECT_THAT(HtmlReport({r, r}, ""), HasSubstr("None of 2 results failed, apart from 2 known failures</h1>"));
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
