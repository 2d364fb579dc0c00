// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/console.h"
#include "reports/html/html.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "tests/unit/reports/page_data.h"

namespace assay {
namespace {

using test::PageData;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A case whose bytes do not depend on b: with 20 GB/s and 400 GFLOP/s memory and operations balance at b=24.
Record Point(int b, double seconds, double launch, const std::string& backend = "cpu") {
  Record r;
  r.op = "attention", r.dtype = "bf16", r.fill = "normal";
  r.shape = "b=" + std::to_string(b) + ",h=32,l=1";
  r.case_id = "attention/bf16/" + r.shape + "/fill=normal/seed=0";
  r.backend = backend, r.device = backend, r.implementation = "flash";
  r.verdict = r.outcome = "pass";
  r.sweep = "b=" + std::to_string(b);
  r.flops = 2e6 * b, r.bytes = 2.4e6;
  r.ceiling_gflops = 400, r.ceiling_gbytes_per_s = 20;
  r.bound_by = b < 24 ? "memory" : "compute";
  r.time_median_s = seconds;
  r.roofline_fraction = std::max(*r.flops / 400e9, *r.bytes / 20e9) / seconds;
  r.launch_fraction = launch;
  return r;
}

// 200 us up to b=32, then 400 GFLOP/s.
std::vector<Record> SweepOfB(const std::string& backend = "cpu") {
  std::vector<Record> records;
  for (int b = 256; b >= 1; b /= 2) {
    records.push_back(Point(b, std::max(200e-6, 2e6 * b / 400e9), b < 3 ? 0.6 / b : 0.1, backend));
  }
  return records;
}

TEST(SweepReport, FindsTheSizeWhereTheBoundChanges) {
  const auto groups = SweepsOf(SweepOfB());
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].key, "b");
  EXPECT_EQ(groups[0].title, "attention/bf16/h=32,l=1/fill=normal/seed=0");
  ASSERT_THAT(groups[0].curves, SizeIs(1));
  EXPECT_EQ(groups[0].curves[0].points.front().value, 1);
  EXPECT_NEAR(CrossoverOf(groups[0].curves[0]).value(), 24, 1e-9);
  EXPECT_THAT(SweepAdvice(groups[0]), ElementsAre("cpu: memory-bound below b=24, compute-bound above",
                                                  "cpu: launch overhead is 60 % at b=1 and less than 20 % from 4",
                                                  "cpu: 80 % of its best rate from b=32"));
}

TEST(SweepReport, SaysSoWhereALargerSizeIsSlower) {
  const std::vector<Record> records{Point(1, 1e-6, 0), Point(2, 8e-6, 0)};
  EXPECT_THAT(SweepAdvice(SweepsOf(records)[0]), Contains("cpu: at b=2 its rate is 25 % of its best"));
}

TEST(SweepReport, SaysSoWhereNothingChanges) {
  std::vector<Record> records{Point(1, 200e-6, 0), Point(2, 200e-6, 0)};
  const auto groups = SweepsOf(records);
  EXPECT_FALSE(CrossoverOf(groups[0].curves[0]));
  EXPECT_THAT(SweepAdvice(groups[0]),
              ElementsAre("cpu: memory-bound from b=1 to 2", "cpu: its rate still grows at b=2"));
  for (Record& r : records) r.bound_by.clear(), r.ceiling_gflops.reset();
  EXPECT_THAT(SweepAdvice(SweepsOf(records)[0]), ElementsAre("cpu: its rate still grows at b=2"));
}

TEST(SweepReport, TakesTheFastestThatCountsAndKeepsBackendsApart) {
  std::vector<Record> records{Point(1, 5e-6, 0), Point(1, 3e-6, 0), Point(1, 1e-6, 0), Point(1, 4e-6, 0, "cuda")};
  records[2].timing_invalid = "faster than light";
  const auto groups = SweepsOf(records);
  ASSERT_THAT(groups[0].curves, SizeIs(2));
  EXPECT_EQ(SweepSeconds(*groups[0].curves[0].points[0].record), 3e-6);
  EXPECT_EQ(groups[0].curves[1].backend, "cuda");
  records[0].sweep = "k=7x7";
  records[3].sweep = "";
  EXPECT_THAT(SweepsOf(records)[0].curves, SizeIs(1));
  Record entry = Point(1, 1e-3, 0);
  entry.shape = "shape=4x1024,axes=1", entry.sweep = "shape.0=4";
  EXPECT_EQ(SweepsOf({entry})[0].title, "attention/bf16/shape=*x1024,axes=1/fill=normal/seed=0");
}

TEST(SweepReport, ASizeWithoutOperationsDoesNotHideTheOthers) {
  auto records = SweepOfB();
  records.back().flops = 0;  // a transform of one point
  const Json sweeps = PageData(HtmlReport(records, ""))["sweeps"];
  EXPECT_EQ(sweeps[0]["curves"][0]["points"].size(), records.size());
  EXPECT_THAT(sweeps.dump(), Not(HasSubstr("nan")));
}

TEST(SweepReport, StandsInEveryReport) {
  const auto records = SweepOfB("<cpu>");
  const std::string html = HtmlReport(records, "");
  EXPECT_THAT(html, HasSubstr("memory-bound below b=24, compute-bound above"));
  const Json sweep = PageData(html)["sweeps"][0];
  EXPECT_EQ(sweep["key"], "b");
  EXPECT_NEAR(sweep["curves"][0]["turn"].get<double>(), 24, 0.1);
  EXPECT_EQ(sweep["curves"][0]["points"][0].dump(), R"({"value":1.0,"record":8})");
  EXPECT_THAT(html, Not(HasSubstr("<cpu>")));
  EXPECT_THAT(ConsoleReport(records, {}), HasSubstr("Sweep over b of attention/bf16/h=32,l=1"));
  EXPECT_THAT(MarkdownReport(records, ""), HasSubstr("memory-bound below b=24"));
}

TEST(Performance, WhatIsFasterThanPossibleIsStruckOutAndNamed) {
  Record r = Point(1, 1e-6, 0);
  r.timing_invalid = "2 times the measured bandwidth";
  EXPECT_FALSE(Comparable(r));
  EXPECT_THAT(PerformanceTable({r}, 9).rows[0][1], HasSubstr("~~1.00 µs"));
  EXPECT_THAT(InvalidTimes({r}), ElementsAre(HasSubstr("2 times the measured bandwidth")));
  EXPECT_THAT(ConsoleReport({r}, {}), HasSubstr("cannot be true"));
  EXPECT_THAT(MarkdownReport({r}, ""), HasSubstr("cannot be true"));
  EXPECT_THAT(HtmlReport({r}, ""), HasSubstr("2 times the measured bandwidth"));
  EXPECT_THAT(LimitsTable({r}, 9).rows[0][2], HasSubstr("~~1.00 µs~~"));
  for (const std::string& text : {ConsoleReport({r}, {}), MarkdownReport({r}, ""), HtmlReport({r}, "")}) {
    EXPECT_THAT(text, HasSubstr("1 time cannot be true and counts nowhere"));
  }
  EXPECT_EQ(OutcomeLine({r}), "1 pass; 1 time cannot be true");
  const auto many = InvalidTimes(std::vector<Record>(kMostInvalidTimes + 3, r));
  EXPECT_THAT(many, SizeIs(kMostInvalidTimes + 1));
  EXPECT_THAT(many.back(), HasSubstr("and 3 more"));
  Record slower = Point(1, 2e-6, 0);
  EXPECT_THAT(PerformanceTable({r, slower}, 9).rows[0][1], HasSubstr("2.00 µs"));
  EXPECT_THAT(InvalidTimes({slower}), SizeIs(0));
}

TEST(Performance, ADurationOfZeroThatCannotBeTrueIsNamedToo) {
  Record r = Point(1, 0, 0);
  r.timing_invalid = "0.02 s by the host's clock, and 0 s as the plugin says";
  EXPECT_FALSE(Timed(r));
  EXPECT_THAT(InvalidTimes({r}), ElementsAre(HasSubstr("0 s as the plugin says")));
  EXPECT_EQ(OutcomeLine({r}), "1 pass; 1 time cannot be true");
}

TEST(Performance, LimitsShowWhatIsKnown) {
  Record r = Point(1, 1e-3, 0.25);
  r.time_cold_median_s = 2e-3, r.time_wall_s = 1.2e-3, r.roofline_fraction = 0.5;
  const Table bare = LimitsTable({r}, 9);
  EXPECT_THAT(bare.header,
              ElementsAre("case", "implementation", "warm", "cold", "of the roofline", "bound by", "launch"));
  EXPECT_THAT(bare.rows[0], ElementsAre(r.case_id, "cpu:flash", "1.00 ms", "2.00 ms", "50 %", "memory", "25 %"));
  r.package_power_w = 100;
  EXPECT_DOUBLE_EQ(EnergyJoules(r).value(), 0.12);
  EXPECT_THAT(LimitsTable({r}, 9).header, Contains("J"));
  EXPECT_EQ(RooflineText(r), "50 % memory");
}

}  // namespace
}  // namespace assay
