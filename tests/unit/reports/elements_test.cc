// SPDX-License-Identifier: Apache-2.0
// Details of one result: the check that decided, and the elements that are wrong.
#include "reports/elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "reports/console.h"
#include "reports/deciding.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "tests/unit/reports/made_record.h"
#include "tests/unit/reports/page_data.h"

namespace assay {
namespace {

using test::MakeRecord;
using test::PageData;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Deciding, TheCheckThatFailedOrCameNearest) {
  Record r = MakeRecord("cpu", "naive", "pass");
  r.bound_margin = 0.25, r.stat_margin = 0.5, r.exact_margin = 0;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "statistic 0.50");
  r.stat_margin = 0.125;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 0.25");
  r.verdict = "mismatch", r.bound_margin = 2, r.stat_margin = 9;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 2");
  r.exact_margin = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "exact");
  r.decided_by = "memory";
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "memory");
  r.verdict = "below_contract", r.decided_by = "", r.bound_margin = 0.5, r.stat_margin = 0.5, r.exact_margin = 0;
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "contract");
  r.bound_margin = 7, r.lower_class = "in=bf16";
  EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "bound 7");
  for (const char* verdict : {"crash", "unsupported"}) {
    r.verdict = verdict;
    EXPECT_EQ(DecidingText(DecidingCheckOf(r)), "");
  }
  EXPECT_THAT(ConsoleReport({MakeRecord("cpu", "naive", "nondeterministic")}, {}), HasSubstr("decided by determinism"));
}

TEST(Elements, OnlyWrongOnesAreNamedWithTheirCoordinates) {
  Record r = MakeRecord("cpu", "naive", "mismatch");
  r.worst_elements = "21:9:1:0.5;5:2:1:0.75;6:1.25:1:0.5", r.worst_errors = "[2,5]:8;[0,5] imag:1;[0,6]:0.25";
  r.violations = 1, r.nonfinite_mismatch = 1, r.elements = 1;
  ASSERT_EQ(WrongElementsOf(r).rows.size(), 2u);  // the third is within its tolerance
  EXPECT_THAT(WrongElementsOf(r).rows[0], ElementsAre("[2,5]", "9", "1", "0.5"));
  const auto shown = [&] { return PageData(HtmlReport({r}, ""))["failures"][0]["shown"][0]["rows"]; };
  EXPECT_EQ(shown().dump(), R"([["[2,5]","9","1","0.5"],["[0,5] imag","2","1","0.75"]])");
  EXPECT_THAT(JunitReport({r}, ""), HasSubstr("&#10;  [2,5] | 9 | 1 | 0.5"));
  // On the data of the case nothing is wrong; the twin has data of its own.
  r.violations = r.nonfinite_mismatch = 0, r.twin_elements = "[1,3]:-16:1:0;[1,4]:nan:2:0";
  EXPECT_THAT(WrongElementsOf(r).header[0], HasSubstr("exact twin"));
  EXPECT_THAT(WrongElementsOf(r).rows,
              ElementsAre(ElementsAre("[1,3]", "-16", "1", "0"), ElementsAre("[1,4]", "nan", "2", "0")));
  EXPECT_EQ(shown().dump(), R"([["[1,3]","-16","1","0"],["[1,4]","nan","2","0"]])");
  // Neither: it failed by a relation, say.
  r.twin_elements = "";
  EXPECT_TRUE(WrongElementsOf(r).rows.empty());
  EXPECT_TRUE(shown().empty());
  r.violations = std::nullopt;  // of a program that did not count them
  EXPECT_EQ(WrongElementsOf(r).rows.size(), 3u);
}

}  // namespace
}  // namespace assay
