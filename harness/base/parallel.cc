// SPDX-License-Identifier: Apache-2.0
// The pool starts with the first ParallelFor that needs it, so that a process may fork before; a child forgets the
// pool of its parent, whose threads it does not have, and starts its own when needed.
#include "harness/base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/base/check.h"

namespace assay {
namespace {

using Body = std::function<void(int64_t, int64_t)>;

// A thread takes its share of half of what is left: few chunks, and small ones at the end, where unequal speeds would
// leave threads waiting.
struct Job {
  const Body* body;
  int64_t n;
  int64_t grain;
  int64_t threads;
  std::atomic<int64_t> next{0};

  int64_t ChunkAt(int64_t begin) const { return grain * std::max<int64_t>(1, (n - begin) / grain / (2 * threads)); }
  void Work() {
    for (int64_t begin = next.load(std::memory_order_relaxed); begin < n;) {
      const int64_t end = begin + std::min(ChunkAt(begin), n - begin);
      if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      (*body)(begin, end);
      begin = next.load(std::memory_order_relaxed);
    }
  }
};

thread_local bool inside_parallel_for = false;

class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { WorkerLoop(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // False when another thread's job is running.
  bool TryRun(Job& job) {
    std::unique_lock owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      ++generation_;
      busy_ = static_cast<int>(threads_.size());
    }
    wake_.notify_all();
    job.Work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    return true;
  }

 private:
  void WorkerLoop() {
    inside_parallel_for = true;
    uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      Job* job = job_;
      lock.unlock();
      job->Work();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex owner_;  // held by the thread whose job runs
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  uint64_t generation_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

std::atomic<Pool*> pool{nullptr};  // never destroyed at exit: static destructors may still use it
std::atomic<int> thread_count{0};  // 0: not decided yet

int DefaultThreadCount() {
  if (const char* text = std::getenv("ASSAY_THREADS")) {
    const std::string_view view = text;
    int value = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error == std::errc() && end == view.data() + view.size() && value >= 1) return std::min(value, 1024);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Pool& GetPool() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
  ASSAY_CHECK(registered == 0);
  Pool* current = pool.load();
  if (current != nullptr) return *current;
  auto* fresh = new Pool(ThreadCount() - 1);
  if (pool.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;  // another thread was first
  return *current;
}

}  // namespace

int ThreadCount() {
  int count = thread_count.load();
  if (count == 0) {
    const int fresh = DefaultThreadCount();
    count = thread_count.compare_exchange_strong(count, fresh) ? fresh : count;
  }
  return count;
}

void SetThreadCount(int threads) {
  ASSAY_CHECK(threads >= 1);
  thread_count.store(threads);
  delete pool.exchange(nullptr);
}

void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  ASSAY_CHECK(grain >= 1);
  if (n <= 0) return;
  const int threads = ThreadCount();
  if (n <= grain || threads == 1 || inside_parallel_for) return body(0, n);
  Job job{&body, n, grain, threads};
  inside_parallel_for = true;
  if (!GetPool().TryRun(job)) job.Work();
  inside_parallel_for = false;
}

}  // namespace assay
