// SPDX-License-Identifier: Apache-2.0
// A file to which whole lines are appended. A line that came back from Append is on the disk a second later, so that a
// machine that loses its power has lost a second at most, and no reader ever finds half of one: what a full disk took
// only in part is cut off again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "harness/core/base/result.h"

namespace assay {

// How to wait when the disk has no room for a line, since the user may make some.
struct RoomWait {
  double seconds = 300;                         // longest wait
  std::function<void(const std::string&)> say;  // is told once, when the wait begins and when it has ended
  std::function<bool()> gives_up = [] { return false; };
};

class DurableLines {
 public:
  enum class Mode : uint8_t { kCreate, kContinue };  // kCreate: fails where the file is there
  // Locks the file: two runs that append to one file would remove each other's lines.
  static Result<std::unique_ptr<DurableLines>> Open(const std::filesystem::path& path, Mode mode);
  ~DurableLines();
  DurableLines(const DurableLines&) = delete;
  DurableLines& operator=(const DurableLines&) = delete;

  // `line` ends with a newline. From one thread at a time. Errors name the file and the system's reason.
  Status Append(std::string_view line);
  // Takes all lines away.
  Status Clear();
  // Returns without an error once all appended lines are on the disk. After an error of a sync, also one in the
  // background, every later Append and Sync fails: it is unknown which lines the disk has.
  Status Sync();
  void SetWait(RoomWait wait) { wait_ = std::move(wait); }

 private:
  DurableLines(std::filesystem::path path, int fd, int64_t size);
  bool IsDeleted() const;
  int Write(std::string_view line) const;  // errno of what went wrong, or 0
  Status SyncProblem() const;
  void SyncEachSecond();

  const std::filesystem::path path_;
  const int fd_;
  int64_t size_;
  RoomWait wait_;
  // One sync at a time: who finds nothing unsynced may say so, as what was has come to its end.
  std::mutex sync_mutex_;
  std::atomic<bool> unsynced_ = false;
  std::atomic<int> sync_problem_ = 0;  // errno of the first sync that failed
  std::mutex mutex_;                   // guards stop_
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread syncs_;
};

}  // namespace assay
