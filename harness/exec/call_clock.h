// SPDX-License-Identifier: Apache-2.0
// Times calls of workers by the host's clock. The thread that waits for an answer may be woken on a processor where a
// thread of the plugin spins, as those of OpenMP do for some tenths of a millisecond after their work. It would wait
// for the end of that, in each call alike, and take it for time of the call.
#pragma once

#include "harness/core/base/stopwatch.h"

namespace assay {

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
