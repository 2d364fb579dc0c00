// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/limits.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <limits>
#include <string_view>

namespace assay {
namespace {

constexpr std::string_view kUnits = "KMGT";

struct NamedLimit {
  std::string_view name;
  uint64_t WorkerLimits::*value;
};
constexpr NamedLimit kLimits[] = {{"memory", &WorkerLimits::memory_bytes},
                                  {"file", &WorkerLimits::file_bytes},
                                  {"processes", &WorkerLimits::processes},
                                  {"descriptors", &WorkerLimits::descriptors}};

// "500M"; nothing for what is none, or too large.
Result<uint64_t> ParseAmount(std::string_view text) {
  if (text == "none") return 0;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const size_t power = unit.empty() ? 0 : std::min(kUnits.find(unit), kUnits.size()) + 1;
  if (error == std::errc() && value > 0 && unit.size() <= 1 && power <= kUnits.size() &&
      value <= std::numeric_limits<uint64_t>::max() >> 10 * power) {
    return value << 10 * power;
  }
  return UsageError(fmt::format("'{}' is not an amount: write a number, with K, M, G or T after it, or none", text));
}

// "64G", as ParseAmount reads it.
std::string AmountText(uint64_t amount) {
  size_t power = 0;
  while (power < kUnits.size() && amount % 1024 == 0) amount /= 1024, ++power;
  return fmt::format("{}{}", amount, power == 0 ? "" : std::string(1, kUnits[power - 1]));
}

void Limit(__rlimit_resource what, uint64_t most) {
  if (most == 0) return;
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_max = std::min<rlim_t>(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  // More descriptors than a shell gives by default: what many devices need is within the limit.
  if (what == RLIMIT_NOFILE) now.rlim_cur = now.rlim_max;
  ::setrlimit(what, &now);
}

// Processes and threads of this user; a host that hides itself is not seen, nor are its threads.
uint64_t RunningTasks() {
  uint64_t tasks = 0;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = ::readdir(processes)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string folder = fmt::format("/proc/{}/task", entry->d_name);
    struct stat info {};
    // A folder has a link for each folder in it, and two of its own.
    if (::stat(folder.c_str(), &info) == 0 && info.st_uid == ::geteuid()) tasks += info.st_nlink - 2;
  }
  ::closedir(processes);
  return tasks;
}

}  // namespace

Status SetLimit(const std::string& text, WorkerLimits& limits) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = std::string_view(text).substr(0, equals);
  for (const NamedLimit& limit : kLimits) {
    if (limit.name != name || equals == text.size()) continue;
    const Result<uint64_t> amount = ParseAmount(std::string_view(text).substr(equals + 1));
    if (!amount) return tl::unexpected(amount.error());
    limits.*limit.value = *amount;
    return {};
  }
  return UsageError(
      fmt::format("'{}' is not a limit: write memory=8G, file=500M, processes=100 or descriptors=1024", text));
}

void ApplyLimits(const WorkerLimits& limits) {
  Limit(RLIMIT_DATA, limits.memory_bytes);
  Limit(RLIMIT_FSIZE, limits.file_bytes);
  if (limits.processes > 0 && ::geteuid() != 0) Limit(RLIMIT_NPROC, RunningTasks() + limits.processes);
  Limit(RLIMIT_NOFILE, limits.descriptors);
}

std::string LimitHint(const WorkerLimits& limits, int signal) {
  if (signal == SIGXFSZ && limits.file_bytes > 0) {
    return fmt::format("a file of a worker may have at most {0} bytes (--worker-limit file={0})",
                       AmountText(limits.file_bytes));
  }
  if (signal == SIGKILL) return "";
  std::string hint;
  if (limits.memory_bytes > 0) {
    hint = fmt::format("a process of a worker may have at most {0} bytes of memory (--worker-limit memory={0})",
                       AmountText(limits.memory_bytes));
  }
  if (limits.processes != WorkerLimits().processes && limits.processes > 0) {
    hint += fmt::format("{0}a worker may start at most {1} processes and threads (--worker-limit processes={1})",
                        hint.empty() ? "" : "; ", AmountText(limits.processes));
  }
  return hint;
}

}  // namespace assay
