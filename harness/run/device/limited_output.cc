// SPDX-License-Identifier: Apache-2.0
#include "harness/run/device/limited_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "harness/base/stopwatch.h"

extern char** environ;

namespace assay {
namespace {

constexpr int kLookMs = 20;
constexpr size_t kMostText = 1 << 20;

// In a process group of its own, so that all that it starts can be ended; 0 where it cannot begin.
pid_t Start(std::vector<std::string>& words, int output) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem == 0 ? child : 0;
}

// Reads until the child has ended and what it left is read. That alone is no end: what it started may keep the output
// open, and it may close the output and go on.
LimitedOutput ReadUntilEnd(double limit_s, pid_t child, int output) {
  const Stopwatch watch;
  LimitedOutput read_so_far;
  pollfd readable{output, POLLIN, 0};
  std::array<char, 4096> part{};
  std::optional<int> status;
  for (int now = 0;;) {
    if (!status && waitpid(child, &now, WNOHANG) == child) status = now;
    const int ready = poll(&readable, 1, status ? 0 : kLookMs);
    const bool is_interrupted = ready < 0 && errno == EINTR;
    if (is_interrupted || watch.Seconds() > limit_s) {
      read_so_far.end = is_interrupted ? ProgramEnd::kInterrupted : ProgramEnd::kLate;
      kill(-child, SIGKILL);
      if (!status) waitpid(child, &now, 0);
      return read_so_far;
    }
    if (ready > 0) {
      const ssize_t got = read(output, part.data(), part.size());
      if (got > 0) read_so_far.text.append(part.data(), static_cast<size_t>(got));
      if (read_so_far.text.size() > 2 * kMostText) read_so_far.text.erase(0, read_so_far.text.size() - kMostText);
      if (got == 0) readable.fd = -1;  // poll leaves it out from now on
    } else if (status) {
      read_so_far.end = WIFEXITED(*status) && WEXITSTATUS(*status) == 0 ? ProgramEnd::kWell : ProgramEnd::kBadly;
      return read_so_far;
    }
  }
}

}  // namespace

LimitedOutput RunWithin(double limit_s, std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = Start(words, ends[1]);
  close(ends[1]);
  LimitedOutput output;
  if (child > 0) output = ReadUntilEnd(limit_s, child, ends[0]);
  close(ends[0]);
  return output;
}

}  // namespace assay
