// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/engine/perf/peak_kernels.cc"
#include "harness/engine/perf/peak_kernels.h"

#include <array>
#include <utility>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A fused operation takes four or five cycles and two begin in each; more sums would not fit into 16 registers.
constexpr size_t kSums = 12;
constexpr int kSteps = 1024, kStepsUnrolled = 4;

template <class T, size_t... kI>
HWY_INLINE double MultiplyAdd(double seed, std::index_sequence<kI...>) {
  const hn::ScalableTag<T> d;
  // The sums approach 1: no subnormals or infinities, which some processors are slow at. They begin apart, or the
  // compiler would make one of them all.
  const auto half = hn::Set(d, T{0.5});
  std::array sums = {hn::Set(d, static_cast<T>(seed + static_cast<double>(kI)))...};
  for (int i = 0; i < kSteps; i += kStepsUnrolled) {
    for (int step = 0; step < kStepsUnrolled; ++step) ((sums[kI] = hn::MulAdd(sums[kI], half, half)), ...);
  }
  auto all = hn::Zero(d);
  ((all = hn::Add(all, sums[kI])), ...);
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, all)));
}

template <class T>
double RunBlock(double seed) {
  return MultiplyAdd<T>(seed, std::make_index_sequence<kSums>());
}

template <class T>
constexpr PeakKernel kBlock{RunBlock<T>, 2.0 * kSums* kSteps* hn::MaxLanes(hn::ScalableTag<T>())};

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

std::vector<PeakKernels> PeakKernelsOfHost() {
  std::vector<PeakKernels> kernels;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return kernels;
#if HWY_TARGETS & HWY_AVX2
  kernels.push_back({"avx2", N_AVX2::kBlock<float>, N_AVX2::kBlock<double>});
#endif
#if HWY_TARGETS & HWY_AVX3
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) kernels.push_back({"avx3", N_AVX3::kBlock<float>, N_AVX3::kBlock<double>});
#endif
#endif
  return kernels;
}

}  // namespace assay
#endif
