// SPDX-License-Identifier: Apache-2.0
// Time as calls of several backends count it that are at work on one host: with n of them it passes n times slower, so
// that a call does not run into its timeout because it has a part of the cores only. One that hangs while the others
// end thus delays a run no longer than if they had run one after the other. From any thread.
#pragma once

#include <chrono>
#include <mutex>

#include "harness/core/base/stopwatch.h"

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

// Times calls of workers by the host's clock. The thread that waits for an answer may be woken on a processor where a
// thread of the plugin spins, as those of OpenMP do for some tenths of a millisecond after their work. It would wait
// for the end of that, in each call alike, and take it for time of the call.
//
// Asks the kernel for short time slices of the thread that makes it, which then goes before one that spins: Linux 6.12
// heeds that, and before 6.6 who slept goes first anyway.
class CallClock {
 public:
  CallClock();
  double Seconds() const { return watch_.Seconds(); }  // since it was made

 private:
  Stopwatch watch_;
};

}  // namespace assay
