// SPDX-License-Identifier: Apache-2.0
// The table of times: whose time it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "reports/summary.h"
#include "reports/table.h"
#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Which of them is timed first changes from run to run.
TEST(Summary, ThePerformanceTableHasTheColumnsInTheOrderOfTheOthers) {
  const std::vector<Record> records{MakeRecord("cpu", "naive", "unsupported"), MakeRecord("opencl", "x", "unsupported"),
                                    MakeRecord("vulkan", "x", "pass", 1e-3), MakeRecord("cpu", "naive", "pass", 1e-3)};
  EXPECT_THAT(PerformanceTable(records, 9).header, ElementsAre("case", "cpu", "vulkan"));
}

TEST(Summary, PerformanceShowsTheFastestAndPrefersWhatIsNotSuspect) {
  auto suspect = MakeRecord("cpu", "fast-but-suspect", "pass", 1e-6);
  suspect.result_class = "suspect";
  const std::vector<Record> records{suspect, MakeRecord("cpu", "slow", "pass", 3e-3),
                                    MakeRecord("cpu", "quick", "pass", 2e-3)};
  const Table t = PerformanceTable(records, 10);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0][1], HasSubstr("2.00 ms"));
  EXPECT_THAT(t.rows[0][1], HasSubstr("(quick)"));
  const Table only_suspect = PerformanceTable({suspect}, 10);
  EXPECT_THAT(only_suspect.rows[0][1], HasSubstr("~~1.00 µs"));
}

// Its figure would be the fastest.
TEST(Summary, ATimeThatTheHostsClockDoesNotConfirmIsTheMostThatItTakes) {
  auto claimed = MakeRecord("cpu", "claims", "pass", 1e-6), quick = MakeRecord("cpu", "quick", "pass", 2e-3);
  claimed.time_at_most_s = 3e-3, claimed.gbytes_per_s = 5;
  claimed.flops = 1, claimed.bytes = 1;
  EXPECT_EQ(MedianTimeText(claimed), "≤ 3.00 ms");
  EXPECT_EQ(RateText(claimed), "≥ 5 GB/s");
  EXPECT_THAT(PerformanceTable({claimed}, 10).rows[0][1], HasSubstr("≤ 3.00 ms"));
  EXPECT_THAT(PerformanceTable({claimed, quick}, 10).rows[0][1], HasSubstr("(quick)"));
  EXPECT_EQ(MedianTimeText(quick), "2.00 ms");
}

TEST(Summary, PerformanceShowsTheFastestWhateverItsClass) {
  auto exact = MakeRecord("cpu", "slow", "pass", 3e-3), other = MakeRecord("cpu", "quick", "pass", 2e-3);
  exact.result_class = "bit_exact", other.result_class = "within_class";
  EXPECT_THAT(PerformanceTable({exact, other}, 10).rows[0][1], HasSubstr("(quick)"));
  EXPECT_THAT(PerformanceTable({other, exact}, 10).rows[0][1], HasSubstr("(quick)"));
}

TEST(Summary, PerformanceKeepsDevicesApart) {
  auto a = MakeRecord("gpu", "x", "pass", 1e-3), b = MakeRecord("gpu", "x", "pass", 2e-3);
  b.device = "other";
  const Table t = PerformanceTable({a, b}, 10);
  EXPECT_THAT(t.header, ElementsAre("case", "gpu[gpu-device]", "gpu[other]"));
  EXPECT_THAT(t.rows[0][2], HasSubstr("2.00 ms"));
}

TEST(Summary, PerformanceShowsNothingOfAResultThatIsWrong) {
  const auto wrong = MakeRecord("cpu", "fast-but-wrong", "mismatch", 1e-6);
  auto known = MakeRecord("cpu", "known-wrong", "mismatch", 2e-6);
  known.outcome = "known_failure", known.result_class = "suspect";
  const Table t = PerformanceTable({wrong, known, MakeRecord("cpu", "slow", "pass", 3e-3)}, 10);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0][1], HasSubstr("(slow)"));
  EXPECT_TRUE(PerformanceTable({wrong, known}, 10).rows.empty());
}

TEST(Summary, AFasterResultOfAWeakerContractStandsBesideTheFastestThatPassed) {
  const Record passed = MakeRecord("gpu", "plain", "pass", 3e-3),
               weaker = MakeRecord("gpu", "tf32", "below_contract", 1e-3),
               slower = MakeRecord("gpu", "emulated", "below_contract", 5e-3);
  const Table t = PerformanceTable({passed, weaker, slower}, 10);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0][1], HasSubstr("(plain); weaker contract 1.00 ms"));
  EXPECT_THAT(PerformanceTable({passed, slower}, 10).rows[0][1], Not(HasSubstr("weaker")));
  EXPECT_THAT(PerformanceTable({slower}, 10).rows[0][1], HasSubstr("weaker contract 5.00 ms"));
  EXPECT_TRUE(Comparable(weaker));
}

}  // namespace
}  // namespace assay
