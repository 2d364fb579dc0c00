// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/program_group.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "harness/core/base/stopwatch.h"
#include "harness/exec/child_process.h"

extern char** environ;

namespace assay {
namespace {

constexpr int kLookMs = 20;
constexpr size_t kMostText = 1 << 20;

// Reads until the program has ended and what it left is read. That alone is no end: what it started may keep the output
// open, and it may close the output and go on.
LimitedOutput ReadUntilEnd(double limit_s, ProgramGroup& program, int output) {
  const Stopwatch watch;
  LimitedOutput read_so_far;
  pollfd readable{output, POLLIN, 0};
  std::array<char, 4096> part{};
  for (;;) {
    const std::optional<int> status = program.Ended();
    const int ready = poll(&readable, 1, status ? 0 : kLookMs);
    const bool is_interrupted = ready < 0 && errno == EINTR;
    if (is_interrupted || watch.Seconds() > limit_s) {
      read_so_far.end = is_interrupted ? ProgramEnd::kInterrupted : ProgramEnd::kLate;
      program.Kill();
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

ProgramGroup::ProgramGroup(ProgramStart start) {
  for (char** variable = environ; *variable != nullptr; ++variable) start.variables.emplace_back(*variable);
  const std::vector<char*> argv = MakeArgumentList(start.words), env = MakeArgumentList(start.variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!start.has_input) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, start.output, STDOUT_FILENO);
  if (!start.has_errors) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  problem_ = posix_spawnp(&child_, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

std::optional<int> ProgramGroup::Ended() {
  int status = 0;
  if (!status_ && waitpid(child_, &status, WNOHANG) == child_) status_ = status;
  return status_;
}

void ProgramGroup::Kill() {
  kill(-child_, SIGKILL);
  int status = 0;
  if (!status_ && waitpid(child_, &status, 0) == child_) status_ = status;
}

LimitedOutput RunWithin(double limit_s, std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  ProgramGroup program({.words = std::move(words), .output = ends[1], .has_errors = false});
  close(ends[1]);
  LimitedOutput output;
  if (program.problem() == 0) output = ReadUntilEnd(limit_s, program, ends[0]);
  close(ends[0]);
  return output;
}

}  // namespace assay
