// SPDX-License-Identifier: Apache-2.0
// Time as calls of several backends count it that are at work on one host: with n of them it passes n times slower, so
// that a call does not run into its timeout because it has a part of the cores only. One that hangs while the others
// end thus delays a run no longer than if they had run one after the other. From any thread.
#pragma once

#include <chrono>
#include <mutex>

namespace assay {

class SharedTime {
 public:
  // One more is at work while this lives.
  class AtWork {
   public:
    explicit AtWork(SharedTime& time) : time_(time) { time_.Count(1); }
    ~AtWork() { time_.Count(-1); }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

   private:
    SharedTime& time_;
  };

  double Seconds();  // since this was made

 private:
  using Clock = std::chrono::steady_clock;
  void Count(int more);
  void Pass();

  std::mutex mutex_;  // guards what follows
  int at_work_ = 0;
  double seconds_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace assay
