// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/device_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <system_error>

#include "harness/core/base/profile.h"
#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/pool.h"

namespace assay {

DeviceQueues::DeviceQueues(const std::vector<Device>& devices, size_t most_at_once) : devices_(devices.size()) {
  const std::vector<size_t> queues = QueueOfEach(devices);
  if (!queues.empty()) queues_.resize(std::ranges::max(queues) + 1);
  for (size_t i = 0; i < devices.size(); ++i) lanes_.push_back({devices[i], i, queues[i]});
  for (size_t i = 0; i < devices.size(); ++i) {
    for (const std::shared_ptr<Session>& session : devices[i].beside) {
      lanes_.push_back({devices[i], i, queues[i]});
      lanes_.back().device.session = session;
    }
  }
  for (const Lane& lane : lanes_) {
    if (lane.device.session) lane.device.session->ShareTime(time_);
  }
  StartHelpers(std::min(most_at_once, lanes_.size()));
}

// Fewer where the system grants no more threads.
void DeviceQueues::StartHelpers(size_t at_once) try {
  while (threads_.size() + 1 < at_once) {
    threads_.emplace_back([this, number = threads_.size() + 2] { Help(number); });
  }
} catch (const std::system_error&) {
}

DeviceQueues::~DeviceQueues() {
  std::vector<std::thread> ends;  // at once: one that does not end is waited for
  for (const Lane& lane : lanes_) {
    if (!lane.device.session) continue;
    try {
      ends.emplace_back([&lane] { lane.device.session->Restart(); });
    } catch (const std::system_error&) {  // no thread is to be had: one after the other
      lane.device.session->Restart();
    }
  }
  for (std::thread& end : ends) end.join();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceQueues::ForEach(size_t at_once, size_t cases, const Work& work, bool beside, const Takes& takes) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  takes_ = takes ? &takes : nullptr;
  at_once_ = std::clamp<size_t>(at_once, 1, threads_.size() + 1);
  used_lanes_ = beside ? lanes_.size() : devices_;
  cases_ = cases;
  left_ = cases * queues_.size();
  thrown_ = nullptr;
  for (Queue& queue : queues_) queue.next = 0;
  changed_.notify_all();
  while (left_ > 0 || running_ > 0) {
    if (Lane* const lane = NextLane(); lane != nullptr) {
      Serve(*lane, lock);
    } else {
      const Span span(Phase::kWait);
      changed_.wait(lock);
    }
  }
  if (thrown_) std::rethrow_exception(thrown_);
}

void DeviceQueues::Help(size_t number) {
  const ProfiledThread thread(fmt::format("devices {}", number));
  std::unique_lock lock(mutex_);
  for (;;) {
    Lane* lane = nullptr;
    changed_.wait(lock, [&] { return stop_ || (lane = NextLane()) != nullptr; });
    if (stop_) return;
    Serve(*lane, lock);
  }
}

// Picks the idle lane whose device has most work left, so that all devices end at about the same time. A device's own
// worker goes before its extra ones. Null if enough lanes are running.
DeviceQueues::Lane* DeviceQueues::NextLane() {
  Lane* longest = nullptr;
  if (left_ == 0 || running_ >= at_once_) return longest;
  for (Lane& lane : std::span(lanes_).first(used_lanes_)) {
    const Queue& queue = queues_[lane.queue];
    if (lane.running || queue.next == cases_) continue;
    if (takes_ != nullptr && !(*takes_)(queue.next, static_cast<size_t>(&lane - lanes_.data()))) continue;
    if (longest == nullptr || LeftSeconds(queue) > LeftSeconds(queues_[longest->queue])) longest = &lane;
  }
  return longest;
}

// Estimates from the cases done so far. A device without any may take longest.
double DeviceQueues::LeftSeconds(const Queue& queue) const {
  if (queue.calls == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(cases_ - queue.next) * queue.busy_s / static_cast<double>(queue.calls);
}

void DeviceQueues::Serve(Lane& lane, std::unique_lock<std::mutex>& lock) {
  Queue& queue = queues_[lane.queue];
  lane.running = true;
  ++running_;
  --left_;
  const size_t item = queue.next++;
  const auto number = static_cast<size_t>(&lane - lanes_.data());
  lock.unlock();
  const Stopwatch watch;
  std::exception_ptr thrown;
  try {
    const SharedTime::AtWork at_work(*time_);
    (*work_)(item, number);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  queue.busy_s += watch.Seconds();
  ++queue.calls;
  if (thrown && !thrown_) thrown_ = thrown;
  lane.running = false;
  --running_;
  changed_.notify_all();
}

}  // namespace assay
