// SPDX-License-Identifier: Apache-2.0
// A fan-out over a few threads. Which thread takes which index is fixed, and no kernel lets it influence a result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace cpu {

// Two: the suites run several workers at once, and a reference backend should not fight them for cores.
inline int MaxThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 2);
}

// Threads worth starting for `work` elementary operations: starting one costs as much as some 1e5 of them.
inline int ThreadsFor(double work) {
  return work < 1e6 ? 1 : MaxThreads();
}

// body(index, slot) for every index in [0, count); slot < threads names the thread, for its workspace. What a body
// throws is rethrown here once all threads have ended.
template <class Body>
void ParallelFor(int64_t count, int threads, const Body& body) {
  std::vector<std::exception_ptr> failures(static_cast<size_t>(threads));
  const auto strip = [&](int slot) {
    try {
      for (int64_t i = slot; i < count; i += threads) body(i, slot);
    } catch (...) {
      failures[static_cast<size_t>(slot)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;  // joins on every way out
    for (int slot = 1; slot < threads && slot < count; ++slot) others.emplace_back(strip, slot);
    strip(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

}  // namespace cpu
