// SPDX-License-Identifier: Apache-2.0
#include "harness/run/device/reset_hook.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "harness/base/stopwatch.h"

extern char** environ;

namespace assay {
namespace {

constexpr double kMostSeconds = 600, kMostWait = 64;
constexpr auto kLook = std::chrono::milliseconds(20);

// "" when it exits with 0, else how it ended.
std::string HowItEnded(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? "" : fmt::format("exited with {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {}", WTERMSIG(status));
}

// In a process group of its own, so that all that it starts can be ended. 0 and an error's number where it cannot begin.
pid_t Start(const std::string& command, std::vector<std::string> variables, int& problem) {
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  std::vector<char*> env;
  for (std::string& variable : variables) env.push_back(variable.data());
  env.push_back(nullptr);
  std::array<std::string, 3> words{"sh", "-c", command};
  std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  problem = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem == 0 ? child : 0;
}

}  // namespace

ResetHook::Lost& ResetHook::Of(const Device& device) {
  const std::lock_guard lock(mutex_);
  return lost_[device.selector];
}

uint64_t ResetHook::Resets(const Device& device) {
  Lost& lost = Of(device);
  const std::lock_guard lock(lost.mutex);
  return lost.resets;
}

bool ResetHook::Reset(const Device& device, const std::string& why, uint64_t seen) {
  Lost& lost = Of(device);
  const std::lock_guard lock(lost.mutex);
  if (lost.resets > seen) return true;
  if (lost.in_a_row++ > 0 && !Wait(std::min(kMostWait, std::exp2(lost.in_a_row - 2)))) return false;
  const bool done = Run(device, why);
  lost.resets += done;
  return done;
}

void ResetHook::SetBack(const Device& device) {
  Lost& lost = Of(device);
  const std::lock_guard lock(lost.mutex);
  lost.in_a_row = 0;
}

bool ResetHook::Run(const Device& device, const std::string& why) {
  int problem = 0;
  const Stopwatch watch;
  const pid_t child = Start(command_,
                            {"ASSAY_BACKEND=" + device.backend, "ASSAY_DEVICE=" + device.device.name,
                             "ASSAY_SELECTOR=" + device.selector, "ASSAY_REASON=" + why},
                            problem);
  std::string failed = problem != 0 ? fmt::format("cannot be run: {}", std::strerror(problem)) : "";
  for (int status = 0; child > 0;) {
    if (waitpid(child, &status, WNOHANG) == child) {
      failed = HowItEnded(status);
      break;
    }
    if (interrupted_() || watch.Seconds() > kMostSeconds) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
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
