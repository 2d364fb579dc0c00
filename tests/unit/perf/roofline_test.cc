// SPDX-License-Identifier: Apache-2.0
#include "harness/perf/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/perf/host_bandwidth.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr double kCache = 32e6;
const Ceiling kCeiling{20.0, 400.0, kCache};  // 20 GB/s, 400 GFLOP/s: 20 operations per byte balance

Record Timed(double flops, double bytes, double warm_s, Number cold_s = {}) {
  Record r;
  r.flops = flops, r.bytes = bytes, r.time_median_s = warm_s, r.time_cold_median_s = cold_s;
  return r;
}

TEST(Roofline, SharesAreOfTheColdTime) {
  Record r = Timed(4e9, 2e7, 5e-3, 20e-3);
  SetRoofline(r, kCeiling, true);
  EXPECT_DOUBLE_EQ(*r.memory_fraction, 0.05);  // 1 ms of 20
  EXPECT_DOUBLE_EQ(*r.compute_fraction, 0.5);  // 10 ms of 20
  EXPECT_DOUBLE_EQ(*r.roofline_fraction, 0.5);
  EXPECT_EQ(r.bound_by, "compute");
  EXPECT_EQ(r.roofline_note, "");
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_EQ(*r.ceiling_gflops, 400);
  r = Timed(1e6, 2e7, 2e-3);
  SetRoofline(r, kCeiling, true);
  EXPECT_DOUBLE_EQ(*r.roofline_fraction, 0.5);
  EXPECT_EQ(r.bound_by, "memory");
}

TEST(Roofline, WithoutATimeOrACeilingThereIsNoShare) {
  Record r;
  r.flops = 1e9, r.bytes = 1e6;
  SetRoofline(r, kCeiling, true);
  EXPECT_FALSE(r.roofline_fraction || r.ceiling_gflops);
  r.time_median_s = 1e-3;
  SetRoofline(r, {}, true);
  EXPECT_FALSE(r.roofline_fraction);
  EXPECT_EQ(r.bound_by, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("no ceiling of the bandwidth"));
  SetRoofline(r, {20.0, {}, kCache}, true);
  EXPECT_TRUE(r.roofline_fraction);
  EXPECT_EQ(r.bound_by, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("no compute rate"));
}

TEST(Roofline, WhatIsFasterThanPossibleIsInvalid) {
  // 200 MB in 5 ms are 40 GB/s; in 9.2 ms, 1.087 times the ceiling.
  Record r = Timed(1e6, 2e8, 5e-3, 5e-3);
  SetRoofline(r, kCeiling, true);
  EXPECT_THAT(r.timing_invalid, HasSubstr("2 times the measured bandwidth of 20 GB/s"));
  r = Timed(1e6, 2e8, 5e-3, 9.2e-3);
  SetRoofline(r, kCeiling, true);
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("above the measured ceiling"));
  r = Timed(8e10, 2e8, 0.1, 0.1);
  SetRoofline(r, kCeiling, true);
  EXPECT_THAT(r.timing_invalid, HasSubstr("2 times the measured compute rate of 400 GFLOP/s"));
}

TEST(Roofline, CachesAndClevernessAreNoFalseTimes) {
  Record warm = Timed(1e6, 2e8, 5e-3);
  SetRoofline(warm, kCeiling, true);
  EXPECT_EQ(warm.timing_invalid, "");
  EXPECT_THAT(warm.roofline_note, HasSubstr("the caches serve a part"));
  Record small = Timed(1e6, 1e8, 1e-3, 1e-3);  // less than four caches
  SetRoofline(small, kCeiling, true);
  EXPECT_EQ(small.timing_invalid, "");
  Record winograd = Timed(8e10, 2e8, 0.1, 0.1);
  SetRoofline(winograd, kCeiling, false);
  EXPECT_EQ(winograd.timing_invalid, "");
  EXPECT_THAT(winograd.roofline_note, HasSubstr("fewer operations than are counted"));
}

TEST(Roofline, BoundByTheCeilingThatIsMetFirst) {
  EXPECT_EQ(LimiterOf(19, 1, kCeiling), Limiter::kMemory);
  EXPECT_EQ(LimiterOf(21, 1, kCeiling), Limiter::kCompute);
  EXPECT_EQ(LimiterOf(21, 1, {20.0, {}, 0}), Limiter::kUnknown);
}

TEST(HostBandwidth, IsMeasured) {
  for (const int threads : {1, 3}) {
    const HostBandwidth bandwidth = MeasureHostBandwidth(1 << 20, threads);
    EXPECT_GT(bandwidth.read_gbytes_per_s, 0);
    EXPECT_GT(bandwidth.copy_gbytes_per_s, 0);
  }
}

}  // namespace
}  // namespace assay
