// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace assay::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// A closing terminal may send SIGHUP twice: by the shell, and by the kernel when the shell has gone.
void OnInterrupt(int number) {
  interrupted = true;
  std::signal(number, number == SIGHUP ? SIG_IGN : SIG_DFL);
}

}  // namespace

void WatchForInterrupts() {
  static std::once_flag watched;  // else a second Ctrl-C would only be noted as well
  std::call_once(watched, [] {
    std::signal(SIGINT, OnInterrupt);
    std::signal(SIGTERM, OnInterrupt);
    if (std::signal(SIGHUP, OnInterrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  });
}

bool WatchAndAsk() {
  WatchForInterrupts();
  return Interrupted();
}

bool Interrupted() {
  return interrupted;
}

}  // namespace assay::cli
