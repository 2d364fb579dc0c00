// SPDX-License-Identifier: Apache-2.0
// Threads that begin at the same time, for what the whole machine can do.
#pragma once

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace assay {

// Every thread calls work(thread) at the same time; the seconds from the first begin to the last end.
template <class F>
double SecondsOfAll(int threads, const F& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::pair<Clock::time_point, Clock::time_point>> spans(static_cast<size_t>(threads));
  std::barrier ready(threads);
  std::vector<std::thread> others;
  const auto run = [&](int t) {
    ready.arrive_and_wait();
    spans[static_cast<size_t>(t)].first = Clock::now();
    work(t);
    spans[static_cast<size_t>(t)].second = Clock::now();
  };
  for (int t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  Clock::time_point begin = spans[0].first, end = spans[0].second;
  for (const auto& [from, to] : spans) begin = std::min(begin, from), end = std::max(end, to);
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace assay
