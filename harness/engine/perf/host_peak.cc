// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/host_peak.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <ctime>

#include "harness/engine/perf/all_threads.h"
#include "harness/engine/perf/peak_kernels.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPasses = 5;
constexpr std::chrono::microseconds kPassTime{2500};

// Work of a core in each cycle, relative to f32. AMX makes 2048 operations on int8 or 1024 on bf16 (Intel, "Accelerate
// Artificial Intelligence Workloads with Intel Advanced Matrix Extensions"), where two fused multiply-adds of 16 lanes
// make 64 in f32. A VNNI instruction multiplies and adds four int8 where a fused one does it to one f32, and begins no
// more often.
constexpr double kAmxInt8 = 32, kAmxBf16 = 16, kVnni = 4;
// An instruction for pairs of bf16, and one that holds twice as many f16, begin as often as the one for f32.
constexpr double kPairs = 2;
// Wider types from sums of products of narrow ones take at least six of them: 16 / 6, and less for f64.
constexpr double kSplitOverAmx = 3;

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Processors that add beside their fused units could do more; no operator's counted operations are such a mixture.
// Each thread for the same time, not the same work: processors may be of unequal speed. By the time that it had a
// processor: what else the machine does at the moment must not lower the limit.
double GflopsOf(const PeakKernel& kernel, int threads) {
  std::atomic<double> all = 0, sink = 0;
  SecondsOfAll(threads, [&](int t) {
    double sum = t;
    int64_t blocks = 0;
    const double begin = ThreadSeconds();
    for (const auto end = Clock::now() + kPassTime; Clock::now() < end; ++blocks) sum += kernel.run(sum);
    all += static_cast<double>(blocks) * kernel.flops / (ThreadSeconds() - begin) * 1e-9;
    sink.store(sum);
  });
  return all.load();
}

}  // namespace

HostPeak MeasureHostPeak(int threads) {
  HostPeak peak;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const PeakKernels& kernels : PeakKernelsOfHost()) {
      const auto measure = [&](const PeakKernel& kernel, Number& best, std::string& how) {
        const double gflops = GflopsOf(kernel, threads);
        if (gflops <= best.value_or(0)) return;
        best = gflops;
        how = fmt::format("fused multiply-adds of assay in {} vectors, {} threads", kernels.vectors, threads);
      };
      measure(kernels.f32, peak.f32_gflops, peak.f32_how);
      measure(kernels.f64, peak.f64_gflops, peak.f64_how);
    }
  }
  return peak;
}

NarrowUnits NarrowUnitsOfHost() {
  NarrowUnits units;
#if defined(__x86_64__)
  const auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return units;
  units.amx = bit(d, 24);
  units.avx512_fp16 = bit(d, 23);
  units.vnni = bit(c, 11);
  if (a < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return units;
  units.avx512_bf16 = bit(a, 5);
  units.vnni = units.vnni || bit(a, 4) || bit(d, 4);  // AVX-VNNI, AVX-VNNI-INT8
#endif
  return units;
}

Number MostGflops(const HostPeak& peak, const NarrowUnits& units, DType arithmetic, InputRounding in) {
  const auto times = [&](double factor) { return peak.f32_gflops ? Number(*peak.f32_gflops * factor) : std::nullopt; };
  const double bf16 = units.amx ? kAmxBf16 : units.avx512_bf16 ? kPairs : 1;
  if (in == InputRounding::kFP8) return std::nullopt;
  switch (arithmetic) {
    case DType::kF32:
      return times(in != InputRounding::kExact ? bf16 : units.amx ? kSplitOverAmx : 1);
    case DType::kF64:
      return peak.f64_gflops ? Number(*peak.f64_gflops * (units.amx ? kSplitOverAmx : 1)) : std::nullopt;
    case DType::kBF16:
      return times(bf16);
    case DType::kF16:
      return times(units.amx ? kAmxBf16 : units.avx512_fp16 ? kPairs : 1);
    case DType::kI8:
      return units.amx ? times(kAmxInt8) : units.vnni ? times(kVnni) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace assay
