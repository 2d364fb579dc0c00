// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/engine/perf/host_peak.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr double kCache = 32e6;
// 20 GB/s, 400 GFLOP/s: 20 operations per byte balance. Nothing can be faster.
const Rate kMemory{20.0, "measured: read", true, false}, kCompute{400.0, "measured: fused", true, false};
const Ceiling kCeiling{kMemory, kCompute, kCompute, kCache};

Record Timed(double flops, double bytes, double warm_s, Number cold_s = {}) {
  Record r;
  r.flops = flops, r.bytes = bytes, r.time_median_s = warm_s, r.time_cold_median_s = cold_s;
  return r;
}

TEST(Roofline, SharesAreOfTheColdTime) {
  Record r = Timed(4e9, 2e7, 11e-3, 20e-3);
  SetRoofline(r, kCeiling, *r.flops);
  EXPECT_DOUBLE_EQ(*r.memory_fraction, 0.05);  // 1 ms of 20
  EXPECT_DOUBLE_EQ(*r.compute_fraction, 0.5);  // 10 ms of 20
  EXPECT_DOUBLE_EQ(*r.roofline_fraction, 0.5);
  EXPECT_EQ(r.bound_by, "compute");
  EXPECT_EQ(r.roofline_note, "");
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_EQ(*r.ceiling_gflops, 400);
  r = Timed(1e6, 2e7, 2e-3);
  SetRoofline(r, kCeiling, *r.flops);
  EXPECT_DOUBLE_EQ(*r.roofline_fraction, 0.5);
  EXPECT_EQ(r.bound_by, "memory");
}

TEST(Roofline, WithoutATimeOrACeilingThereIsNoShare) {
  Record r;
  r.flops = 1e9, r.bytes = 1e6;
  SetRoofline(r, kCeiling, *r.flops);
  EXPECT_FALSE(r.roofline_fraction || r.ceiling_gflops);
  r.time_median_s = 1e-3;
  SetRoofline(r, {}, *r.flops);
  EXPECT_FALSE(r.roofline_fraction);
  EXPECT_EQ(r.bound_by, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("the peak bandwidth is unknown"));
  SetRoofline(r, {kMemory, {}, {}, kCache}, *r.flops);
  EXPECT_TRUE(r.roofline_fraction);
  EXPECT_EQ(r.bound_by, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("the peak compute rate"));
}

TEST(Roofline, WhatIsFasterThanPossibleIsInvalidWarmOrCold) {
  // 232 MB, of which the caches may keep 32, take 10 ms.
  for (const Number& cold : {Number(5e-3), Number()}) {
    Record r = Timed(1e6, 232e6, 5e-3, cold);
    SetRoofline(r, kCeiling, *r.flops);
    EXPECT_THAT(r.timing_invalid, HasSubstr("roofline: 2 times the bandwidth of 20 GB/s (measured: read)"));
    r = Timed(8e10, 2e6, 0.1, cold ? Number(0.2) : cold);  // arithmetic is no faster in the caches
    SetRoofline(r, kCeiling, *r.flops);
    EXPECT_THAT(r.timing_invalid, HasSubstr("roofline: 2 times the compute rate of 400 GFLOP/s (measured: fused)"));
    EXPECT_FALSE(r.gflops || r.compute_fraction || r.roofline_fraction);
  }
  Record r = Timed(1e6, 232e6, 9.2e-3, 9.2e-3);  // 1.087 times
  SetRoofline(r, kCeiling, *r.flops);
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_THAT(r.roofline_note, HasSubstr("above the ceiling (measured: read)"));
}

TEST(Roofline, AWitnessAccusesNobody) {
  Ceiling beside{kMemory, {400.0, "a matmul of slow", false, false}, {}, kCache};
  Record r = Timed(8e10, 2e6, 0.01);
  const Above above = SetRoofline(r, beside, *r.flops);
  EXPECT_TRUE(above.compute);
  EXPECT_EQ(r.timing_invalid, "");
  EXPECT_DOUBLE_EQ(*r.compute_fraction, 20);
  EXPECT_THAT(r.roofline_note, HasSubstr("a matmul of slow"));
  beside.most_compute = {4000.0, "at most so many times", true, false};
  SetRoofline(r, beside, *r.flops);
  EXPECT_THAT(r.timing_invalid, HasSubstr("2 times the compute rate of 4000 GFLOP/s"));
}

TEST(Roofline, ABackendThatIsItsOwnOnlyWitnessIsNamedSo) {
  Ceiling alone{kMemory, {400.0, "a matmul of cheat", false, true}, {}, kCache};
  Record r = Timed(4e9, 2e6, 0.01);
  SetRoofline(r, alone, *r.flops);
  EXPECT_DOUBLE_EQ(*r.compute_fraction, 1);
  EXPECT_EQ(r.roofline_note, "the only witness of the compute rate is this backend itself");
  alone.memory.own = true;
  SetRoofline(r, alone, *r.flops);
  EXPECT_EQ(r.roofline_note, "the only witness of the bandwidth and of the compute rate is this backend itself");
  alone.compute = kCompute;
  SetRoofline(r, alone, *r.flops);
  EXPECT_EQ(r.roofline_note, "the only witness of the bandwidth is this backend itself");
}

TEST(Roofline, AnotherCheckOfTheSameRecordReplacesItsOwnReasonAlone) {
  Record r = Timed(8e10, 2e6, 0.1);
  r.timing_invalid = "wall clock: 2 s of 1 s";
  SetRoofline(r, kCeiling, *r.flops);
  SetRoofline(r, kCeiling, *r.flops);
  EXPECT_THAT(r.timing_invalid, testing::MatchesRegex("wall clock: 2 s of 1 s [|] roofline: 2 times [^|]*"));
  Ceiling higher = kCeiling;
  higher.most_compute.giga_per_s = 800;
  SetRoofline(r, higher, *r.flops);
  EXPECT_EQ(r.timing_invalid, "wall clock: 2 s of 1 s");
  EXPECT_FALSE(r.compute_fraction);
}

TEST(Roofline, CachesAndClevernessAreNoFalseTimes) {
  Record warm = Timed(1e6, 1.5e8, 5e-3);
  SetRoofline(warm, kCeiling, *warm.flops);  // 118 MB of them pass: 1.18 times
  EXPECT_THAT(warm.timing_invalid, HasSubstr("1.18 times"));
  Record small = Timed(1e6, 1e8, 1e-3, 1e-3);  // less than four caches
  SetRoofline(small, kCeiling, *small.flops);
  EXPECT_EQ(small.timing_invalid, "");
  small.time_cold_median_s.reset();
  SetRoofline(small, kCeiling, *small.flops);
  EXPECT_THAT(small.roofline_note, HasSubstr("the caches serve a part"));
  Record winograd = Timed(8e10, 2e8, 0.1, 0.1);
  SetRoofline(winograd, kCeiling, 0);
  EXPECT_EQ(winograd.timing_invalid, "");
  EXPECT_THAT(winograd.roofline_note, HasSubstr("fewer operations than are counted"));
  Record padded = Timed(8e10, 2e6, 0.1);
  SetRoofline(padded, kCeiling, 4e10);  // half of the taps see padding
  EXPECT_EQ(padded.timing_invalid, "");
}

TEST(Roofline, BoundByTheCeilingThatIsMetFirst) {
  EXPECT_EQ(LimiterOf(19, 1, kCeiling), Limiter::kMemory);
  EXPECT_EQ(LimiterOf(21, 1, kCeiling), Limiter::kCompute);
  EXPECT_EQ(LimiterOf(21, 1, {kMemory, {}, {}, 0}), Limiter::kUnknown);
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
