// SPDX-License-Identifier: Apache-2.0
// Judging an f32 matrix, with the statistic's groups (rows, columns, tiles), against a plain read of the same five
// arrays (output, golden values, S, sigma, E_gold), both on all threads and interleaved, so that a busy machine slows
// both. Target: at most 2 times the read.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/judge_bench.cc"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "harness/core/base/parallel.h"
#include "harness/judge/metrics.h"
#include "hwy/highway.h"
#include "tests/bench/targets.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One pass over five arrays with a single addition per vector read: as cheap as reading can be. n: a multiple of 64.
double Sum(const float* got, const double* value, const float* s, const float* sigma, const float* error, int64_t n) {
  const hn::CappedTag<float, 16> d32;
  const hn::CappedTag<double, 8> d64;
  auto a = hn::Zero(d32), b = a, c = a, d = a;
  auto v = hn::Zero(d64), w = v;
  const auto step = static_cast<int64_t>(hn::Lanes(d32)), half = static_cast<int64_t>(hn::Lanes(d64));
  for (int64_t i = 0; i < n; i += step) {
    a = hn::Add(a, hn::LoadU(d32, got + i));
    b = hn::Add(b, hn::LoadU(d32, s + i));
    c = hn::Add(c, hn::LoadU(d32, sigma + i));
    d = hn::Add(d, hn::LoadU(d32, error + i));
    v = hn::Add(v, hn::LoadU(d64, value + i));
    w = hn::Add(w, hn::LoadU(d64, value + i + step - half));
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d32, hn::Add(hn::Add(a, b), hn::Add(c, d))))) +
         hn::GetLane(hn::SumOfLanes(d64, hn::Add(v, w)));
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {
HWY_EXPORT(Sum);

double SumArrays(const float* got, const double* value, const float* s, const float* sigma, const float* error,
                 int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Sum)(got, value, s, sigma, error, n);
}

namespace {

constexpr int64_t kElements = int64_t{1} << 25;  // 128 MiB per f32 array: beyond any cache
constexpr int kRounds = 15;
constexpr double kTarget = 2;
constexpr int64_t kColumns = 4096;

struct Arrays {
  Golden golden;
  BoundModel bound;
  Contract contract;
  Tensor got{DType::kF32, {kElements / kColumns, kColumns}};

  Arrays() {
    golden.shape = {kElements / kColumns, kColumns};
    golden.value.resize(kElements);
    golden.magnitude = golden.sigma = golden.error = Plane(kElements, false);
    ParallelFor(kElements, 1 << 16, [this](int64_t begin, int64_t end) { Fill(begin, end); });
    bound.terms = {{&golden.magnitude, 1e-4}};
    bound.u_out = 0x1p-24;
    bound.lambda_out = 0x1p-150;
    bound.overflow_at = 0x1.ffffffp127;
    bound.partial_overflow_at = 0x1p128;
    bound.statistic.floor = 0.5 * kRoundingDeviation * 0x1p-24;
  }

  void Fill(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double y = 1 + static_cast<double>((i * 2654435761) % 1000003) * 1e-6;
      golden.value[static_cast<size_t>(i)] = y;
      golden.magnitude.Set(i, 64);
      golden.sigma.Set(i, 16);
      golden.error.Set(i, 1e-14);
      got.As<float>()[static_cast<size_t>(i)] = static_cast<float>(y + 1e-7);
    }
  }
};

double PlainRead(const Arrays& a) {
  constexpr int64_t kStretch = 4096;
  std::vector<double> sums(kElements / kStretch);
  ParallelFor(kElements, kStretch, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kStretch) {
      sums[static_cast<size_t>(at / kStretch)] =
          SumArrays(a.got.As<float>().data() + at, a.golden.value.data() + at, a.golden.magnitude.f32().data() + at,
                    a.golden.sigma.f32().data() + at, a.golden.error.f32().data() + at, kStretch);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

using bench::Median;
using bench::SecondsOf;

int Main() {
  const Arrays arrays;
  std::vector<double> ratios, reads;
  bool holds = true;
  for (int round = 0; round <= kRounds; ++round) {
    const double read = SecondsOf([&] { benchmark::DoNotOptimize(PlainRead(arrays)); });
    const double judge = SecondsOf([&] {
      const ErrorMetrics m = Measure(arrays.golden, arrays.bound, arrays.contract, arrays.got);
      holds = holds && m.Holds() && m.statistic.applicable && m.statistic.Holds();
    });
    if (round == 0) continue;  // first touch
    ratios.push_back(judge / read);
    reads.push_back(read);
  }
  const double ratio = Median(ratios);
  const double gigabytes = 24e-9 * kElements;
  std::printf("read %.1f GB/s with %d threads\n", gigabytes / Median(reads), ThreadCount());
  if (!holds) std::printf("judge_f32: the judge rejects a correct result\n");
  bench::Targets targets;
  targets.AtMost("judge_f32", kTarget, ratio);
  return holds ? targets.ExitCode() : 1;
}

}  // namespace
}  // namespace assay

int main() {
  return assay::Main();
}
#endif
