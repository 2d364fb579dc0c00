// SPDX-License-Identifier: Apache-2.0
// Work of several cases on several columns at once. Columns of one session are one lane: a session serves one call
// after the other. A lane that lags behind the others gets a second worker of its plugin while they leave threads idle,
// where its devices are processors of this host: one that is compiling kernels then keeps no core waiting. Other
// devices may refuse two processes, or lack the memory for both.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/exec/shared_time.h"
#include "harness/run/device.h"

namespace assay {

// Whether lanes may get a second worker.
enum class SecondWorkers { kNever, kWhereLagging };

class Lanes {
 public:
  // Threads for at most `most_at_once` workers, the calling one included.
  Lanes(const std::vector<Device>& columns, size_t most_at_once, SecondWorkers second);

  // A worker dies with the thread that started it: each is let end before.
  ~Lanes();

  // Calls work(index of a case, index of a column, that column through the worker to use) for each of `cases` on every
  // column, on at most `at_once` workers at a time. A lane goes on to its next case while others are still at theirs;
  // its own worker takes the cases in order, a second one from the end. The timeouts of backends make up for that
  // (SharedTime). Second workers end where one at a time is asked for, as large cases do. Returns when all is done;
  // then throws what was thrown first.
  using Work = std::function<void(size_t, size_t, const Device&)>;
  void ForEach(size_t at_once, size_t cases, const Work& work);

  size_t size() const { return lanes_.size(); }
  size_t most_workers() const;

 private:
  // A worker of a lane.
  struct Seat {
    enum State { kClosed, kOpen, kRefused };
    std::vector<Device> columns;  // of the lane, through this worker
    bool own = true;              // else it is a second one
    State state = kOpen;
    bool running = false;
  };
  struct Lane {
    std::vector<size_t> columns;
    std::vector<Seat> seats;
    double busy_s = 0;  // of all calls until now
    size_t calls = 0;
    size_t next = 0, end = 0;  // cases not yet begun
    bool running() const { return seats[0].running; }
    double LeftSeconds() const;
  };
  struct Place {
    Lane* lane = nullptr;
    Seat* seat = nullptr;
  };
  void AddSecondWorkers();
  void Help(size_t number);
  Place NextPlace();
  void Run(Place place, std::unique_lock<std::mutex>& lock);
  Seat* SecondToOpen(Lane& lane);
  void OpenSecond(const Seat& own, Seat& second);
  void EndSecondWorkers();

  std::vector<Lane> lanes_;
  std::shared_ptr<SharedTime> time_ = std::make_shared<SharedTime>();

  std::mutex mutex_;  // guards what follows, and what lanes change
  std::condition_variable changed_;
  const Work* work_ = nullptr;
  size_t at_once_ = 0, running_ = 0, left_ = 0;  // left: of all lanes, not yet begun
  std::exception_ptr thrown_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
