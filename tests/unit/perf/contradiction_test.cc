// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/engine/perf/roofline.h"

namespace assay {
namespace {

Record TimedRecord() {
  Record r;
  r.flops = 4e9, r.bytes = 2e9, r.time_median_s = 2;
  SetRates(r);
  r.memory_fraction = 0.5, r.compute_fraction = 0.25, r.roofline_fraction = 0.5;
  return r;
}

bool HasRates(const Record& r) {
  return r.gflops || r.gbytes_per_s || r.memory_fraction || r.compute_fraction || r.roofline_fraction;
}

TEST(Contradiction, EveryReasonIsKeptOnceAndNoRateIs) {
  Record r = TimedRecord();
  EXPECT_DOUBLE_EQ(*r.gflops, 2);
  EXPECT_DOUBLE_EQ(*r.gbytes_per_s, 1);
  AddContradiction(r, "wall clock: 3 s of 2 s");
  AddContradiction(r, "roofline: twice");
  AddContradiction(r, "wall clock: 3 s of 2 s");
  EXPECT_EQ(r.timing_invalid, "wall clock: 3 s of 2 s | roofline: twice");
  EXPECT_FALSE(HasRates(r));
  EXPECT_EQ(*r.time_median_s, 2);
  SetRates(r);  // as a later round does
  EXPECT_FALSE(HasRates(r));
}

TEST(Contradiction, RatesComeBackWithTheLastReasonTakenBack) {
  Record r = TimedRecord();
  AddContradiction(r, "roofline: twice");
  AddContradiction(r, "wall clock: 3 s of 2 s");
  WithdrawContradictions(r, "roofline: ");
  EXPECT_EQ(r.timing_invalid, "wall clock: 3 s of 2 s");
  EXPECT_FALSE(HasRates(r));
  WithdrawContradictions(r, "wall clock: ");
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_DOUBLE_EQ(*r.gflops, 2);
  WithdrawContradictions(r, "wall clock: ");
  EXPECT_DOUBLE_EQ(*r.gflops, 2);
}

TEST(Contradiction, WithoutATimeThereIsNoRate) {
  Record r = TimedRecord();
  r.time_median_s.reset();
  SetRates(r);
  EXPECT_FALSE(r.gflops || r.gbytes_per_s);
}

}  // namespace
}  // namespace assay
