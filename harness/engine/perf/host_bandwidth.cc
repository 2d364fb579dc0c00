// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/perf/all_threads.h"
#include "harness/engine/perf/host_peak.h"

namespace assay {
namespace {

constexpr int kFewestPasses = 2, kMostPasses = 5;
constexpr double kEnoughSeconds = 0.5;  // where caches are large, a pass takes longer

// Independent sums, so that the additions do not hold the loads up.
uint64_t Sum(const uint64_t* words, size_t count) {
  constexpr size_t kSums = 32;
  uint64_t sums[kSums] = {};
  for (size_t i = 0; i + kSums <= count; i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += words[i + j];
  }
  uint64_t all = 0;
  for (const uint64_t sum : sums) all += sum;
  return all;
}

}  // namespace

HostBandwidth MeasureHostBandwidth(uint64_t bytes, int threads) {
  const size_t each = bytes / 2 / sizeof(uint64_t) / static_cast<size_t>(threads);  // words of a half per thread
  const size_t words = each * static_cast<size_t>(threads);
  const std::unique_ptr<uint64_t[]> memory(new uint64_t[2 * words]);  // touched first by the thread that uses it
  uint64_t* from = memory.get();
  uint64_t* to = from + words;
  const auto part = [&](int t) { return each * static_cast<size_t>(t); };
  std::atomic<uint64_t> sink = 0;  // keeps the sums
  SecondsOfAll(threads, [&](int t) {
    std::fill_n(from + part(t), each, uint64_t{1});
    std::fill_n(to + part(t), each, uint64_t{2});
  });
  HostBandwidth best;
  const double moved = static_cast<double>(2 * words * sizeof(uint64_t)) * 1e-9;
  const Stopwatch watch;
  for (int pass = 0; pass < kFewestPasses || (pass < kMostPasses && watch.Seconds() < kEnoughSeconds); ++pass) {
    const double read =
        SecondsOfAll(threads, [&](int t) { sink += Sum(from + part(t), each) + Sum(to + part(t), each); });
    const double copy =
        SecondsOfAll(threads, [&](int t) { std::memcpy(to + part(t), from + part(t), each * sizeof(uint64_t)); });
    best.read_gbytes_per_s = std::max(best.read_gbytes_per_s, moved / read);
    best.copy_gbytes_per_s = std::max(best.copy_gbytes_per_s, moved / copy);
  }
  return best;
}

}  // namespace assay
