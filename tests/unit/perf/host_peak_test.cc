// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/host_peak.h"

#include <gtest/gtest.h>

#include "harness/engine/perf/peak_kernels.h"

namespace assay {
namespace {

constexpr InputRounding kExact = InputRounding::kExact;
const HostPeak kPeak{100.0, 50.0, "", ""};

TEST(HostPeak, EachKernelDoesTheOperationsThatItCounts) {
  for (const PeakKernels& kernels : PeakKernelsOfHost()) {
    // Every sum ends at 1 after 1024 steps of two operations, so their sum says how many there are.
    for (const PeakKernel& kernel : {kernels.f32, kernels.f64}) {
      EXPECT_NEAR(kernel.run(3), kernel.flops / 2048, 1e-3) << kernels.vectors;
    }
    EXPECT_EQ(kernels.f32.flops, 2 * kernels.f64.flops);
  }
}

TEST(HostPeak, IsMeasuredWhereThereAreKernels) {
  const bool kernels = !PeakKernelsOfHost().empty();
  for (const int threads : {1, 3}) {
    const HostPeak peak = MeasureHostPeak(threads);
    EXPECT_EQ(peak.f32_gflops.value_or(0) > 0, kernels);
    EXPECT_EQ(peak.f64_gflops.value_or(0) > 0, kernels);
    EXPECT_EQ(peak.f32_how.empty(), !kernels);
  }
}

TEST(HostPeak, NarrowTypesAreLimitedByTheUnitsThatTheProcessorHas) {
  const NarrowUnits none, amx{.amx = true, .avx512_bf16 = true, .avx512_fp16 = true, .vnni = true};
  const NarrowUnits avx512{.avx512_bf16 = true, .avx512_fp16 = true, .vnni = true};
  const auto most = [](const NarrowUnits& units, DType type, InputRounding in = kExact) {
    return MostGflops(kPeak, units, type, in).value_or(0);
  };
  EXPECT_EQ(most(none, DType::kF32), 100);
  EXPECT_EQ(most(none, DType::kF64), 50);
  EXPECT_EQ(most(none, DType::kBF16), 100);
  EXPECT_EQ(most(none, DType::kI8), 0);  // not known
  EXPECT_EQ(most(avx512, DType::kF32), 100);
  EXPECT_EQ(most(avx512, DType::kF32, InputRounding::kBF16), 200);
  EXPECT_EQ(most(avx512, DType::kBF16), 200);
  EXPECT_EQ(most(avx512, DType::kF16), 200);
  EXPECT_EQ(most(avx512, DType::kI8), 400);
  EXPECT_EQ(most(amx, DType::kBF16), 1600);
  EXPECT_EQ(most(amx, DType::kF32, InputRounding::kBF16x3), 1600);
  EXPECT_EQ(most(amx, DType::kF32), 300);  // by sums of products of bf16
  EXPECT_EQ(most(amx, DType::kI8), 3200);
  EXPECT_EQ(most(amx, DType::kE4M3), 0);
  EXPECT_FALSE(MostGflops({}, amx, DType::kF32, kExact));  // nothing was measured
}

}  // namespace
}  // namespace assay
