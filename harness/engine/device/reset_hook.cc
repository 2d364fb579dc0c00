// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/reset_hook.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/program_group.h"

namespace assay {
namespace {

constexpr double kMostSeconds = 600, kMostWait = 64;
constexpr auto kLook = std::chrono::milliseconds(20);

// "" when it exits with 0, else how it ended.
std::string DescribeExitStatus(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? "" : fmt::format("exited with {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {}", WTERMSIG(status));
}

}  // namespace

ResetHook::Lost& ResetHook::FindLost(const Device& device) {
  const std::lock_guard lock(mutex_);
  return lost_[device.selector];
}

uint64_t ResetHook::Resets(const Device& device) {
  Lost& lost = FindLost(device);
  const std::lock_guard lock(lost.mutex);
  return lost.resets;
}

bool ResetHook::Reset(const Device& device, const std::string& why, uint64_t seen) {
  Lost& lost = FindLost(device);
  const std::lock_guard lock(lost.mutex);
  if (lost.resets > seen) return true;
  if (lost.in_a_row++ > 0 && !Wait(std::min(kMostWait, std::exp2(lost.in_a_row - 2)))) return false;
  const bool done = Run(device, why);
  lost.resets += done;
  return done;
}

void ResetHook::SetBack(const Device& device) {
  Lost& lost = FindLost(device);
  const std::lock_guard lock(lost.mutex);
  lost.in_a_row = 0;
}

bool ResetHook::Run(const Device& device, const std::string& why) {
  const Stopwatch watch;
  ProgramGroup program({.words = {"/bin/sh", "-c", command_},
                        .variables = {"ASSAY_BACKEND=" + device.backend, "ASSAY_DEVICE=" + device.device.name,
                                      "ASSAY_SELECTOR=" + device.selector, "ASSAY_REASON=" + why},
                        .output = STDERR_FILENO});
  std::string failed = program.problem() != 0 ? fmt::format("cannot be run: {}", std::strerror(program.problem())) : "";
  while (program.problem() == 0) {
    if (const std::optional<int> status = program.Ended()) {
      failed = DescribeExitStatus(*status);
      break;
    }
    if (interrupted_() || watch.Seconds() > kMostSeconds) {
      program.Kill();
      failed = interrupted_() ? "was interrupted" : fmt::format("took more than {} s and was killed", kMostSeconds);
      break;
    }
    std::this_thread::sleep_for(kLook);
  }
  const std::lock_guard lock(mutex_);
  note_(fmt::format("{} was lost; --on-device-lost {} after {:.1f} s", device.selector,
                    failed.empty() ? "ended well" : failed, watch.Seconds()));
  return failed.empty();
}

bool ResetHook::Wait(double seconds) const {
  const Stopwatch watch;
  while (watch.Seconds() < seconds) {
    if (interrupted_()) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace assay
