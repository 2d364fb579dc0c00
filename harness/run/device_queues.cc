// SPDX-License-Identifier: Apache-2.0
#include "harness/run/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/profile.h"
#include "harness/base/stopwatch.h"
#include "harness/run/ceilings.h"

namespace assay {
namespace {

// What a lane must have left for a second worker: several times what starting one takes.
constexpr double kWorthASecondWorker = 0.25;
// A second worker that does not start soon is done without; the first one waits for it.
constexpr double kSecondStartSeconds = 10;

}  // namespace

double Lanes::Lane::LeftSeconds() const {
  return calls == 0 ? 0 : static_cast<double>(end - next) * busy_s / static_cast<double>(calls);
}

Lanes::Lanes(const std::vector<Device>& columns, size_t most_at_once, SecondWorkers second) {
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::shared_ptr<Session>& session = columns[c].session;
    const auto shares = [&](const Lane& lane) { return lane.seats[0].columns[0].session == session; };
    auto lane = std::ranges::find_if(lanes_, shares);
    if (lane == lanes_.end()) lane = lanes_.insert(lane, Lane{.columns = {}, .seats = {Seat()}});
    lane->columns.push_back(c);
    lane->seats[0].columns.push_back(columns[c]);
  }
  if (second == SecondWorkers::kWhereLagging) AddSecondWorkers();
  for (const Lane& lane : lanes_) {
    for (const Seat& seat : lane.seats) {
      if (seat.columns[0].session) seat.columns[0].session->ShareTime(time_);
    }
  }
  while (threads_.size() + 1 < std::min(most_at_once, most_workers())) {
    threads_.emplace_back([this, number = threads_.size() + 2] { Help(number); });
  }
}

void Lanes::AddSecondWorkers() {
  const auto on_host = [](const Device& column) { return HardwareOf(column) == kHostHardware; };
  for (Lane& lane : lanes_) {
    const std::vector<Device>& own = lane.seats[0].columns;
    if (!own[0].session || !std::ranges::all_of(own, on_host)) continue;
    Seat seat{.columns = own, .own = false, .state = Seat::kClosed};
    const std::shared_ptr<Session> session = own[0].session->MakeSecond(kSecondStartSeconds);
    for (Device& column : seat.columns) column.session = session;
    lane.seats.push_back(std::move(seat));
  }
}

Lanes::~Lanes() {
  std::vector<std::thread> ends;  // at once: one that does not end is waited for
  for (const Lane& lane : lanes_) {
    for (const Seat& seat : lane.seats) {
      if (seat.columns[0].session) ends.emplace_back([&seat] { seat.columns[0].session->Restart(); });
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

size_t Lanes::most_workers() const {
  size_t seats = 0;
  for (const Lane& lane : lanes_) seats += lane.seats.size();
  return seats;
}

void Lanes::ForEach(size_t at_once, size_t cases, const Work& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  at_once_ = std::clamp<size_t>(at_once, 1, threads_.size() + 1);
  if (at_once_ == 1) EndSecondWorkers();
  left_ = cases * lanes_.size();
  thrown_ = nullptr;
  for (Lane& lane : lanes_) lane.next = 0, lane.end = cases;
  changed_.notify_all();
  while (left_ > 0 || running_ > 0) {
    if (const Place place = NextPlace(); place.lane != nullptr) {
      Run(place, lock);
    } else {
      const Span span(Phase::kWait);
      changed_.wait(lock);
    }
  }
  if (thrown_) std::rethrow_exception(thrown_);
}

// Their memory is wanted, or nobody would use them.
void Lanes::EndSecondWorkers() {
  for (Lane& lane : lanes_) {
    for (Seat& seat : lane.seats) {
      if (seat.own || seat.state != Seat::kOpen) continue;
      seat.columns[0].session->Restart();
      seat.state = Seat::kClosed;
    }
  }
}

void Lanes::Help(size_t number) {
  const ProfiledThread thread(fmt::format("columns {}", number));
  std::unique_lock lock(mutex_);
  for (;;) {
    Place place;
    changed_.wait(lock, [&] { return stop_ || (place = NextPlace()).lane != nullptr; });
    if (stop_) return;
    Run(place, lock);
  }
}

// Of the lanes that nobody works for, that which, going by what it took until now, has most left to do: so lanes end at
// about the same time. Then a second worker for the one that has most left. None where enough are at work.
Lanes::Place Lanes::NextPlace() {
  Place best;
  if (left_ == 0 || running_ >= at_once_) return best;
  for (Lane& lane : lanes_) {
    if (lane.next == lane.end) continue;
    for (Seat& seat : lane.seats) {
      if (seat.running || seat.state != Seat::kOpen) continue;
      if (!seat.own && (!lane.running() || lane.LeftSeconds() < kWorthASecondWorker)) continue;
      const auto rank = [](const Place& p) { return std::pair(p.seat->own, p.lane->LeftSeconds()); };
      const Place place{&lane, &seat};
      if (best.lane == nullptr || rank(place) > rank(best)) best = place;
    }
  }
  return best;
}

void Lanes::Run(Place place, std::unique_lock<std::mutex>& lock) {
  auto& [lane, seat] = place;
  seat->running = true;
  ++running_;
  const size_t item = seat->own ? lane->next++ : --lane->end;
  --left_;
  Seat* const second = seat->own ? SecondToOpen(*lane) : nullptr;
  lock.unlock();
  const Stopwatch watch;
  std::exception_ptr thrown;
  try {
    const SharedTime::AtWork at_work(*time_);
    if (second != nullptr) OpenSecond(lane->seats[0], *second);
    for (size_t i = 0; i < lane->columns.size(); ++i) (*work_)(item, lane->columns[i], seat->columns[i]);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  lane->busy_s += watch.Seconds();
  ++lane->calls;
  if (thrown && !thrown_) thrown_ = thrown;
  seat->running = false;
  --running_;
  changed_.notify_all();
}

// Null unless a thread waits for which there is no other work.
Lanes::Seat* Lanes::SecondToOpen(Lane& lane) {
  const bool idle = running_ < at_once_ && NextPlace().lane == nullptr;
  if (!idle || lane.LeftSeconds() < kWorthASecondWorker) return nullptr;
  const auto closed = [](const Seat& seat) { return seat.state == Seat::kClosed; };
  const auto second = std::ranges::find_if(lane.seats, closed);
  return second == lane.seats.end() ? nullptr : &*second;
}

// While the first worker is there: a device that serves one process alone then refuses the second, whose start would
// otherwise take it away from a first one that is being restarted.
void Lanes::OpenSecond(const Seat& own, Seat& second) {
  const SpanContext context("", own.columns[0].selector, "");
  const auto devices = [](const Seat& seat) -> size_t {
    const auto description = seat.columns[0].session->Describe();
    return description ? description->devices.size() : 0;
  };
  const size_t needed = devices(own);
  const bool opens = needed > 0 && devices(second) == needed;
  if (!opens) second.columns[0].session->Restart();  // ends it
  const std::lock_guard lock(mutex_);
  second.state = opens ? Seat::kOpen : Seat::kRefused;
  changed_.notify_all();
}

}  // namespace assay
