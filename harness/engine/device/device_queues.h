// SPDX-License-Identifier: Apache-2.0
// Work of several cases on several devices at once: each device has a queue of cases, which its worker takes in order,
// and threads serve the queues, that with most left to do first. One device's compiler is so at work beside another's
// kernels, and a device that hangs or crashes keeps nobody but itself waiting. A device that has workers beside its
// own (Device::beside) has a lane for each, and these take its cases from the same queue. So do the devices of a pool
// (Device::pool), which have one queue together.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/exec/shared_time.h"

namespace assay {

class DeviceQueues {
 public:
  // Threads for at most `most_at_once` workers at a time, the calling one included. No two devices share a session.
  DeviceQueues(const std::vector<Device>& devices, size_t most_at_once);

  // A worker dies with the thread that started it: each is let end before.
  ~DeviceQueues();

  // The devices, and behind them those that are served by a further worker.
  size_t lanes() const { return lanes_.size(); }
  const Device& DeviceOf(size_t lane) const { return lanes_[lane].device; }  // whose session is the lane's
  size_t IndexOf(size_t lane) const { return lanes_[lane].index; }           // of that device
  size_t QueueOf(size_t lane) const { return lanes_[lane].queue; }           // see QueueOfEach
  size_t queues() const { return queues_.size(); }

  // Calls work(index of a case, lane) for each of `cases` from every queue, on at most `at_once` lanes at a time, of
  // which those of further workers are left out where `beside` is off. A device goes on to its next case while others
  // are still at theirs; the timeouts of backends make up for those (SharedTime). Returns when all is done; then throws
  // what was thrown first. `takes(index of a case, lane)`: whether the next case of the lane's queue is for it; not
  // given, it is for any. One device of each queue has to take it whenever none is at work.
  using Work = std::function<void(size_t, size_t)>;
  using Takes = std::function<bool(size_t, size_t)>;
  void ForEach(size_t at_once, size_t cases, const Work& work, bool beside = true, const Takes& takes = nullptr);

 private:
  struct Queue {
    size_t next = 0;    // case
    double busy_s = 0;  // of all calls until now
    size_t calls = 0;
  };
  struct Lane {
    Device device;
    size_t index = 0, queue = 0;
    bool running = false;
  };
  void StartHelpers(size_t at_once);
  void Help(size_t number);
  Lane* NextLane();
  double LeftSeconds(const Queue& queue) const;
  void Serve(Lane& lane, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<SharedTime> time_ = std::make_shared<SharedTime>();

  std::mutex mutex_;  // guards what follows, but for the sessions
  std::condition_variable changed_;
  std::vector<Queue> queues_;
  std::vector<Lane> lanes_;  // in the order of the devices, then those beside
  const size_t devices_;
  const Work* work_ = nullptr;
  const Takes* takes_ = nullptr;
  size_t used_lanes_ = 0;                        // the first of them
  size_t cases_ = 0;                             // of each queue
  size_t at_once_ = 0, running_ = 0, left_ = 0;  // left: of all queues, not yet begun
  std::exception_ptr thrown_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
