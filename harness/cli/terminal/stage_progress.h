// SPDX-License-Identifier: Apache-2.0
// Progress of a command that works on one thing in stages, none of which says how much of it is done: on a terminal the
// stage and the seconds so far, else a line every ten seconds. On standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "harness/cli/terminal/progress.h"

namespace assay::cli {

class StageProgress {
 public:
  explicit StageProgress(Progress::Mode mode);
  // Calls `show` with a text at the beginning of each stage where `at_once`, and then every `interval`.
  StageProgress(std::function<void(const std::string&)> show, std::chrono::milliseconds interval, bool at_once);
  ~StageProgress() { End(); }
  StageProgress(const StageProgress&) = delete;  // its thread refers to it
  StageProgress& operator=(const StageProgress&) = delete;

  void Begin(std::string stage);
  void End();  // nothing is shown after this

 private:
  void Show() const;  // with the mutex held
  void Tick();

  std::function<void(const std::string&)> show_;  // empty: nothing is shown
  std::chrono::milliseconds interval_{};
  bool at_once_ = false, clears_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  std::string stage_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace assay::cli
