// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/limited_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/program_group.h"

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
