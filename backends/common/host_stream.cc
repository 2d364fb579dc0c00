// SPDX-License-Identifier: Apache-2.0
#include "backends/common/host_stream.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace plugin {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class HostEvent : public Event {
 public:
  explicit HostEvent(std::future<Times> times) : times_(times.share()) {}
  Times Wait() override { return times_.get(); }

 private:
  std::shared_future<Times> times_;
};

class HostStream : public Stream {
 public:
  HostStream() : thread_([this] { Work(); }) {}
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  ~HostStream() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  std::unique_ptr<Event> Submit(Plan& plan, const Args& args) override {
    std::packaged_task<Event::Times()> task([&plan, args] {
      const double begin = Now();
      plan.Execute(args);
      return Event::Times{begin, Now(), false};
    });
    auto event = std::make_unique<HostEvent>(task.get_future());
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return event;
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;  // guards what follows but the thread
  std::condition_variable changed_;
  std::deque<std::packaged_task<Event::Times()>> tasks_;
  bool ending_ = false;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace

std::unique_ptr<Stream> MakeHostStream() {
  return std::make_unique<HostStream>();
}

}  // namespace plugin
