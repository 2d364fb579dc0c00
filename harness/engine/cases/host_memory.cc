// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/host_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string_view>

#include "golden/big_buffer.h"

namespace assay {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number behind `key` in a file of lines "key number ...".
std::optional<double> ValueIn(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string name, rest;
  for (double value = 0; file >> name >> value; std::getline(file, rest)) {
    if (name == key) return value;
  }
  return std::nullopt;
}

// The files of a control group, of version 2 and of version 1.
struct GroupFiles {
  const char *most, *used, *unread;
};
constexpr GroupFiles kGroupFiles[] = {{"memory.max", "memory.current", "inactive_file"},
                                      {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}};

// Memory that the group may still take. The kernel frees the cache of unread files first.
double LeftOf(const std::filesystem::path& cgroup) {
  for (const GroupFiles& files : kGroupFiles) {
    double most = 0, used = 0;
    std::ifstream limit(cgroup / files.most), current(cgroup / files.used);
    if (!(limit >> most) || !(current >> used)) continue;  // "max" is no number
    return std::max(0.0, most - used + ValueIn(cgroup / "memory.stat", files.unread).value_or(0));
  }
  return kUnlimited;
}

// Memory that the allocator has mapped and that is not in use.
double FreedBytes() {
  return static_cast<double>(::mallinfo2().fordblks);
}

// Address space that this process may still map (ulimit -v), including what it has mapped for finished cases.
double MeasureFreeAddressSpace() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const double mapped = pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) - FreedBytes();
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - mapped);
}

std::string Gigabytes(double bytes) {
  return fmt::format("{:.3g} GB", bytes * 1e-9);
}

std::string OperandsText(const Problem& problem) {
  std::string text;
  for (const Operand& input : problem.inputs) text += fmt::format("{} {}, ", input.name, fmt::join(input.shape, "x"));
  for (const Operand& output : problem.outputs) {
    text += fmt::format("{}{} {}", &output == problem.outputs.data() ? "" : ", ", output.name,
                        fmt::join(output.shape, "x"));
  }
  return text;
}

}  // namespace

double AvailableBytesIn(const std::filesystem::path& meminfo, const std::filesystem::path& cgroup) {
  const double available = ValueIn(meminfo, "MemAvailable:").value_or(kUnlimited / 1024) * 1024;
  return std::min(available, LeftOf(cgroup));
}

// Each line is "number:controllers:/path"; version 2 names no controllers.
std::vector<std::filesystem::path> MemoryGroupsIn(std::istream& lines, const std::filesystem::path& mounted) {
  std::vector<std::filesystem::path> groups = {mounted};
  for (std::string line; std::getline(lines, line);) {
    const size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
    if (controllers == std::string::npos || path == std::string::npos) continue;
    const std::string names = line.substr(controllers + 1, path - controllers - 1);
    if (!names.empty() && ("," + names + ",").find(",memory,") == std::string::npos) continue;
    const std::filesystem::path root = names.empty() ? mounted : mounted / "memory";
    std::filesystem::path group = root;
    groups.push_back(group);
    for (const auto& part : std::filesystem::path(line.substr(path + 1)).relative_path()) {
      groups.push_back(group /= part);
    }
  }
  return groups;
}

double AvailableBytes() {
  std::ifstream own("/proc/self/cgroup");
  double available = MeasureFreeAddressSpace();
  for (const std::filesystem::path& group : MemoryGroupsIn(own, "/sys/fs/cgroup")) {
    available = std::min(available, AvailableBytesIn("/proc/meminfo", group));
  }
  return available;
}

Status CheckFits(const Problem& problem, MemoryUse use, const std::string& tier, double available_bytes,
                 int64_t sample) {
  const double bytes = BytesNeeded(problem, use, tier, sample);
  if (bytes <= available_bytes) return {};
  return Fail(ErrorCode::kInternal,
              fmt::format("the case is too large for this host: its tensors and golden values ({}) need about {}, and "
                          "{} of memory are available; make the shape smaller",
                          OperandsText(problem), Gigabytes(bytes), Gigabytes(available_bytes)));
}

Status CheckPermitted(const Problem& problem, MemoryUse use, const std::string& tier, double most_bytes,
                      int64_t sample) {
  if (std::isinf(most_bytes)) return {};
  const double bytes = BytesNeeded(problem, use, tier, sample);
  if (bytes <= most_bytes) return {};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("left out: its tensors and golden values ({}) need about {} of this host's memory, more than "
                          "the {} of --max-memory",
                          OperandsText(problem), Gigabytes(bytes), Gigabytes(most_bytes)));
}

void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

void ReturnFreedMemory() {
  ReturnKeptMemory();
  malloc_trim(0);
}

Status CheckFitsHost(const Problem& problem, MemoryUse use, const std::string& tier,
                     const std::function<double()>& available_bytes, int64_t sample) {
  if (CheckFits(problem, use, tier, available_bytes(), sample)) return {};
  ReturnFreedMemory();
  return CheckFits(problem, use, tier, available_bytes(), sample);
}

Status CheckFileFits(const std::filesystem::path& file, double available_bytes) {
  std::error_code error;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file, error));
  if (error || 2 * bytes <= available_bytes) return {};
  return UsageError(fmt::format(
      "{} has {}; reading it takes twice as much, and {} of memory are available: give a part of the tensor, or use a "
      "host with more memory",
      file.string(), Gigabytes(bytes), Gigabytes(available_bytes)));
}

size_t CountParallelDevices(const Problem& problem, const std::string& tier, size_t devices,
                            const std::function<double()>& available_bytes) {
  // Uploaded, downloaded, and on the device; of outputs also the planes of the golden value, two raw outputs, and what
  // judging holds beside them.
  constexpr double kCopies = 3, kBytesPerOutput = 40;
  double bytes = 0;
  for (const Operand& output : problem.outputs) {
    bytes += kCopies * BytesOf(output) + kBytesPerOutput * BytesOf(output) / SizeOf(output.dtype);
  }
  for (const Operand& input : problem.inputs) bytes += kCopies * BytesOf(input);
  double room = kMostBytesBeside;
  const double needed = BytesNeeded(problem, MemoryUse::kRun, tier);
  if (devices > 1 && bytes <= room && needed > kBytesNotAskedFor) {
    room = std::clamp(available_bytes() - needed, 0.0, room);
  }
  return static_cast<size_t>(std::clamp(1 + room / bytes, 1.0, std::max(1.0, static_cast<double>(devices))));
}

std::string DescribeException(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) == nullptr) {
    return fmt::format("the harness failed on this case: {}", exception.what());
  }
  return fmt::format("the host ran out of memory on this case, with {} available now; make the shape smaller",
                     Gigabytes(AvailableBytes()));
}

}  // namespace assay
