// SPDX-License-Identifier: Apache-2.0
// The fused multiply-adds that the processor can do, as an anchor of ratios: a library may not know the processor, and
// run at a fraction of what it does on others.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "harness/core/base/parallel.h"
#include "harness/engine/perf/peak_kernels.h"
#include "tests/bench/targets.h"

namespace assay::bench {

// The kernel with the fastest instruction set; `run` is null where there is none (PeakKernelsOfHost).
inline PeakKernel FastestKernel(PeakKernel PeakKernels::*type) {
  PeakKernel fastest;
  double least_s = std::numeric_limits<double>::infinity();  // for a floating-point operation
  for (const PeakKernels& kernels : PeakKernelsOfHost()) {
    const PeakKernel kernel = kernels.*type;
    std::vector<double> times;
    for (int pass = 0; pass < 9; ++pass) {
      times.push_back(SecondsOf([&] {
        for (int i = 0; i < 100; ++i) benchmark::DoNotOptimize(kernel.run(pass + i));
      }));
    }
    const double seconds = Median(std::move(times)) / kernel.flops;
    if (seconds < least_s) least_s = seconds, fastest = kernel;
  }
  return fastest;
}

// Runs so many operations on all threads of assay, in registers alone.
inline void RunAtPeak(const PeakKernel& kernel, double flops) {
  const auto blocks = static_cast<int64_t>(std::ceil(flops / kernel.flops));
  const int64_t parts = ThreadCount();
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = blocks * begin / parts; i < blocks * end / parts; ++i) sum += kernel.run(sum);
    benchmark::DoNotOptimize(sum);
  });
}

// A library that knows the processor reaches this share of the peak in products of matrices, and more in large ones.
inline constexpr double kLibraryShare = 0.5;

// Checks the speed beside the library's, and beside `library_share` of the peak, where a library that does not know the
// processor makes nothing look fast. `flops`: of the library's work, which both do.
inline void CheckSpeed(Targets& targets, const std::string& name, double target, const std::function<void()>& subject,
                       const std::function<void()>& library, PeakKernel PeakKernels::*type, double flops, int rounds,
                       double library_share = kLibraryShare) {
  const double ratio = RelativeSpeed(subject, library, rounds);
  targets.AtLeast(name, target, ratio);
  static const PeakKernel f32 = FastestKernel(&PeakKernels::f32), f64 = FastestKernel(&PeakKernels::f64);
  const PeakKernel& kernel = type == &PeakKernels::f32 ? f32 : f64;
  if (kernel.run == nullptr) return;
  const double share = RelativeSpeed(
      subject, [&] { RunAtPeak(kernel, flops); }, rounds);
  targets.AtLeast(name + "_of_peak", library_share * target, share);
  std::printf("# %s: the library runs at %.2f of the peak of fused multiply-adds\n", name.c_str(), share / ratio);
}

}  // namespace assay::bench
