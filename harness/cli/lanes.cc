// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/lanes.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/profile.h"
#include "harness/cli/stopwatch.h"

namespace assay::cli {

Lanes::Lanes(const std::vector<Column>& columns, size_t most_at_once) : columns_(columns) {
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::shared_ptr<Session>& session = columns[c].session;
    const auto shares = [&](const Lane& lane) { return columns[lane.columns[0]].session == session; };
    const auto lane = std::ranges::find_if(lanes_, shares);
    lane == lanes_.end() ? lanes_.push_back({{c}}) : lane->columns.push_back(c);
  }
  for (const Column& column : columns) {
    if (column.session) column.session->ShareTime(time_);
  }
  while (threads_.size() + 1 < std::min(most_at_once, lanes_.size())) {
    threads_.emplace_back([this, number = threads_.size() + 2] { Help(number); });
  }
}

Lanes::~Lanes() {
  if (threads_.empty()) return;
  ForEach(lanes_.size(), [this](size_t c) {
    if (columns_[c].session) columns_[c].session->Restart();
  });
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::ForEach(size_t at_once, const std::function<void(size_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  at_once_ = std::max<size_t>(1, at_once);
  thrown_ = nullptr;
  for (Lane& lane : lanes_) waiting_.push_back(&lane);
  // Those first that took longest until now, so that the last one is short.
  if (at_once_ > 1) std::ranges::stable_sort(waiting_, std::ranges::greater(), &Lane::busy_s);
  changed_.notify_all();
  while (!waiting_.empty() || running_ > 0) {
    if (MayRunOne()) {
      RunOne(lock);
    } else {
      const Span span(Phase::kWait);
      changed_.wait(lock);
    }
  }
  if (thrown_) std::rethrow_exception(thrown_);
}

void Lanes::Help(size_t number) {
  const ProfiledThread thread(fmt::format("columns {}", number));
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || MayRunOne(); });
    if (stop_) return;
    RunOne(lock);
  }
}

// Without the lock while it works.
void Lanes::RunOne(std::unique_lock<std::mutex>& lock) {
  Lane& lane = *waiting_.front();
  waiting_.pop_front();
  ++running_;
  lock.unlock();
  const Stopwatch watch;
  std::exception_ptr thrown;
  try {
    const SharedTime::AtWork at_work(*time_);
    for (const size_t column : lane.columns) (*work_)(column);
  } catch (...) {
    thrown = std::current_exception();
  }
  lane.busy_s += watch.Seconds();
  lock.lock();
  if (thrown && !thrown_) thrown_ = thrown;
  --running_;
  changed_.notify_all();
}

}  // namespace assay::cli
