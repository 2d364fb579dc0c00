// SPDX-License-Identifier: Apache-2.0
// Work of several cases on several devices at once: each device has a queue of cases, which its worker takes in order,
// and threads serve the queues, that with most left to do first. One device's compiler is so at work beside another's
// kernels, and a device that hangs or crashes keeps nobody but itself waiting.
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
#include "harness/run/device/device.h"

namespace assay {

class DeviceQueues {
 public:
  // Threads for at most `most_at_once` devices at a time, the calling one included. No two devices share a session.
  DeviceQueues(const std::vector<Device>& devices, size_t most_at_once);

  // A worker dies with the thread that started it: each is let end before.
  ~DeviceQueues();

  // Calls work(index of a case, index of a device) for each of `cases` on every device, on at most `at_once` devices at
  // a time. A device goes on to its next case while others are still at theirs; the timeouts of backends make up for
  // those (SharedTime). Returns when all is done; then throws what was thrown first.
  using Work = std::function<void(size_t, size_t)>;
  void ForEach(size_t at_once, size_t cases, const Work& work);

 private:
  struct Queue {
    std::shared_ptr<Session> session;  // null: a device that cannot be used
    size_t next = 0;                   // case
    bool running = false;
    double busy_s = 0;  // of all calls until now
    size_t calls = 0;
  };
  void Help(size_t number);
  Queue* NextQueue();
  double LeftSeconds(const Queue& queue) const;
  void Serve(Queue& queue, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<SharedTime> time_ = std::make_shared<SharedTime>();

  std::mutex mutex_;  // guards what follows, but for the sessions
  std::condition_variable changed_;
  std::vector<Queue> queues_;  // of the devices
  const Work* work_ = nullptr;
  size_t cases_ = 0;                             // of each queue
  size_t at_once_ = 0, running_ = 0, left_ = 0;  // left: of all queues, not yet begun
  std::exception_ptr thrown_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
