// SPDX-License-Identifier: Apache-2.0
// The pool starts with the first ParallelFor that needs it, so that a process may fork before; a child forgets the
// pool of its parent, whose threads it does not have, and starts its own when needed.
#include "harness/core/base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/core/base/check.h"

namespace assay {
namespace {

using Body = std::function<void(int64_t, int64_t)>;

// A thread takes its share of half of what is left: few chunks, and small ones at the end, where unequal speeds would
// leave threads waiting.
class Job {
 public:
  Job(const Body& body, int64_t n, int64_t grain, int64_t threads)
      : body_(body), n_(n), grain_(grain), threads_(threads) {}

  // On each of the threads. What a body throws is kept for the caller and ends the loop: nobody begins another chunk.
  void Work() noexcept {
    try {
      DoChunks();
    } catch (...) {
      next_.store(n_, std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  // When all threads are done.
  void RethrowException() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  int64_t ChunkAt(int64_t begin) const { return grain_ * std::max<int64_t>(1, (n_ - begin) / grain_ / (2 * threads_)); }
  void DoChunks() {
    for (int64_t begin = next_.load(std::memory_order_relaxed); begin < n_;) {
      const int64_t end = begin + std::min(ChunkAt(begin), n_ - begin);
      if (!next_.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      body_(begin, end);
      begin = next_.load(std::memory_order_relaxed);
    }
  }

  const Body& body_;
  const int64_t n_, grain_, threads_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;  // guards what follows
  std::exception_ptr thrown_;
};

thread_local bool inside_parallel_for = false;

class Pool {
 public:
  // Fewer threads where the system grants no more.
  explicit Pool(int workers) {
    threads_.reserve(static_cast<size_t>(workers));
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { WorkerLoop(); });
    } catch (const std::system_error&) {
    }
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

OnThisThread::OnThisThread(bool applies) : before_(inside_parallel_for) {
  inside_parallel_for = before_ || applies;
}

OnThisThread::~OnThisThread() {
  inside_parallel_for = before_;
}

void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  ASSAY_CHECK(grain >= 1);
  if (n <= 0) return;
  const int threads = ThreadCount();
  if (n <= grain || threads == 1 || inside_parallel_for) return body(0, n);
  Job job(body, n, grain, threads);
  {
    const OnThisThread nested;
    if (!GetPool().TryRun(job)) job.Work();
  }
  job.RethrowException();
}

}  // namespace assay
