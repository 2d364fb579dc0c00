// SPDX-License-Identifier: Apache-2.0
// How a process ends that has used the plugin: destructors and exit handlers of libraries run then, and a worker that
// crashes in them has told its results already.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "harness/exec/plugin_check/plugin_check_rules.h"

namespace assay::plugin_check {
namespace {

constexpr double kLongest = 10;
constexpr char kDone = 1;

// In a process of its own: loads and uses the plugin, says so, and ends as a program does.
[[noreturn]] void UseAndExit(const PluginUnderTest& plugin, int done) {
  {
    PluginUnderTest own;
    own.path = plugin.path;
    own.problems = plugin.problems;
    if (Reach(own, PluginStage::kOffer, *plugin.problems).kind != kOk || ExecuteTwice(own).kind != kOk) ::_exit(1);
  }
  if (::write(done, &kDone, 1) != 1) ::_exit(1);
  std::exit(0);
}

// Its status, or nothing when it had to be killed.
std::optional<int> Await(pid_t child, double seconds) {
  int status = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return std::nullopt;
}

bool HasSaidDone(int from) {
  char byte = 0;
  return ::read(from, &byte, 1) == 1 && byte == kDone;
}

}  // namespace

Finding Unload(PluginUnderTest& plugin) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return Skipped("there is no pipe: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    UseAndExit(plugin, ends[1]);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return Skipped("there is no second process: {}", std::strerror(errno));
  }
  // Loading and compiling may take its time, within what the whole check is given.
  const bool done = HasSaidDone(ends[0]);
  const double longest = std::min(kLongest, plugin.timeout_s / 2);  // else the check ends first, without a finding
  const std::optional<int> status = Await(child, longest);
  ::close(ends[0]);
  if (!done) return Skipped("the plugin could not be used; the checks before say why");
  if (!status) return Bad("a process that had used the plugin did not end within {} s", longest);
  if (WIFSIGNALED(*status)) {
    return Bad("a process that had used the plugin ended with {} ({}); see what its libraries do at exit",
               ::sigabbrev_np(WTERMSIG(*status)), ::strsignal(WTERMSIG(*status)));
  }
  if (*status != 0) return Bad("a process that had used the plugin ended with code {}", WEXITSTATUS(*status));
  return Good("a process that has used it ends with code 0");
}

}  // namespace assay::plugin_check
