// SPDX-License-Identifier: Apache-2.0
// One thread pool for the host's own work. Results never depend on how many threads it has.
#pragma once

#include <cstdint>
#include <functional>

namespace assay {

int ThreadCount();                 // $ASSAY_THREADS, else what the hardware has
void SetThreadCount(int threads);  // at least 1; never while a ParallelFor runs

// Calls body(begin, end) over [0, n) in chunks that are multiples of `grain` (but the last), on all threads; returns
// when all are done. Nested calls, and calls while another thread's loop has the pool, run on the calling thread. If
// bodies throw, the remaining chunks are skipped, and the first exception is rethrown when all running chunks have
// ended.
void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

// While it lives, loops that this thread begins run on it alone: for work so small that waking other threads, and
// waiting for them on a busy host, takes longer.
class OnThisThread {
 public:
  explicit OnThisThread(bool applies = true);
  ~OnThisThread();
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  bool before_;
};

}  // namespace assay
