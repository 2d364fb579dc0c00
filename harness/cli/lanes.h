// SPDX-License-Identifier: Apache-2.0
// Work of several cases on several columns at once. Columns of one session are one lane: a session serves one call
// after the other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/cli/column.h"
#include "harness/exec/shared_time.h"

namespace assay::cli {

class Lanes {
 public:
  // Threads for at most `most_at_once` lanes, the calling one included. `columns` outlives this.
  Lanes(const std::vector<Column>& columns, size_t most_at_once);

  // A worker dies with the thread that started it: each is let end before.
  ~Lanes();

  // Calls work(index of a case, index of a column) for each of `cases` on every column, in order within a lane, on at
  // most `at_once` lanes at a time: a lane goes on to its next case while others are still at theirs. The timeouts of
  // backends make up for that (SharedTime). Returns when all is done; then throws what was thrown first.
  using Work = std::function<void(size_t, size_t)>;
  void ForEach(size_t at_once, size_t cases, const Work& work);

  size_t size() const { return lanes_.size(); }

 private:
  struct Lane {
    std::vector<size_t> columns;
    double busy_s = 0;  // of all calls until now
    size_t next = 0;    // case
    bool running = false;
    double LeftFor(size_t cases) const { return static_cast<double>(cases - next) * busy_s; }
  };
  void Help(size_t number);
  void RunOne(Lane& lane, std::unique_lock<std::mutex>& lock);
  Lane* NextLane();

  const std::vector<Column>& columns_;
  std::vector<Lane> lanes_;
  std::shared_ptr<SharedTime> time_ = std::make_shared<SharedTime>();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  const Work* work_ = nullptr;
  size_t cases_ = 0, at_once_ = 0, running_ = 0, left_ = 0;  // left: of all lanes, not yet begun
  std::exception_ptr thrown_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay::cli
