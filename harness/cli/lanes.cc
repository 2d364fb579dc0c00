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
  ForEach(lanes_.size(), 1, [this](size_t, size_t c) {
    if (columns_[c].session) columns_[c].session->Restart();
  });
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::ForEach(size_t at_once, size_t cases, const Work& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  cases_ = cases;
  at_once_ = std::max<size_t>(1, at_once);
  left_ = cases * lanes_.size();
  thrown_ = nullptr;
  for (Lane& lane : lanes_) lane.next = 0;
  changed_.notify_all();
  while (left_ > 0 || running_ > 0) {
    if (Lane* const lane = NextLane()) {
      RunOne(*lane, lock);
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
    Lane* lane = nullptr;
    changed_.wait(lock, [&] { return stop_ || (lane = NextLane()) != nullptr; });
    if (stop_) return;
    RunOne(*lane, lock);
  }
}

// That which, going by what it took until now, has most left to do: so lanes end at about the same time. Null where
// all that have something left are at work, or enough are.
Lanes::Lane* Lanes::NextLane() {
  if (left_ == 0 || running_ >= at_once_) return nullptr;
  Lane* best = nullptr;
  for (Lane& lane : lanes_) {
    if (lane.running || lane.next == cases_) continue;
    if (best == nullptr || lane.LeftFor(cases_) > best->LeftFor(cases_)) best = &lane;
  }
  return best;
}

// Without the lock while it works.
void Lanes::RunOne(Lane& lane, std::unique_lock<std::mutex>& lock) {
  const size_t item = lane.next++;
  lane.running = true;
  --left_;
  ++running_;
  lock.unlock();
  const Stopwatch watch;
  std::exception_ptr thrown;
  try {
    const SharedTime::AtWork at_work(*time_);
    for (const size_t column : lane.columns) (*work_)(item, column);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  lane.busy_s += watch.Seconds();
  lane.running = false;
  if (thrown && !thrown_) thrown_ = thrown;
  --running_;
  changed_.notify_all();
}

}  // namespace assay::cli
