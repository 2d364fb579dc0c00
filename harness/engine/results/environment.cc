// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>
#include <vector>

#include "harness/core/base/build_facts.h"
#include "harness/core/base/text.h"
#include "harness/core/base/vectors.h"
#include "harness/exec/worker_environment.h"

namespace assay {
namespace {

// The value of the first line "key : value" of a /proc file, "" when absent.
std::string ProcValue(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(':');
    const size_t start = colon == std::string::npos ? std::string::npos : line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string OsName() {
  std::ifstream file("/etc/os-release");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("PRETTY_NAME=", 0) == 0 && line.size() > 14) return line.substr(13, line.size() - 14);
  }
  return "";
}

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Settings that change what backends compute or how fast.
Json ListRelevantVariables() {
  Json out = Json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA",
        "DNNL_DEFAULT_FPMATH_MODE", "ONEDNN_DEFAULT_FPMATH_MODE", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS",
        "ASSAY_THREADS", "ASSAY_MAX_VECTORS", "POCL_DEVICES", "HWLOC_SYNTHETIC", "LP_NATIVE_VECTOR_WIDTH",
        "NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES", "VK_DRIVER_FILES"}) {
    if (const char* value = std::getenv(name)) out[name] = value;
  }
  if (WorkersSetSpins()) out[kSpinVariable] = fmt::format("{} (set by assay for its workers)", kWorkerSpins);
  return out;
}

struct Level {
  std::string_view flag, name;
};

// The widest first.
constexpr Level kX86[] = {{"amx_tile", "amx"},
                          {"avx512_fp16", "avx512-fp16"},
                          {"avx512_bf16", "avx512-bf16"},
                          {"avx512_vnni", "avx512-vnni"},
                          {"avx512f", "avx512"},
                          {"avx_vnni", "avx2-vnni"},
                          {"avx2", "avx2"},
                          {"avx", "avx"},
                          {"sse4_1", "sse4.1"}};
constexpr Level kArm[] = {{"sve2", "sve2"}, {"sve", "sve"}, {"asimd", "neon"}};

}  // namespace

std::string TimestampUtc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::string ToolVersion() {
  return kVersion;
}

Json DescribeEnvironment() {
  utsname system{};
  uname(&system);
  Json out;
  out["tool_version"] = ToolVersion();
  out["timestamp"] = TimestampUtc();
  out["compiler"] = fmt::format("{} {}", kCompiler, __VERSION__);
  out["build_type"] = kBuildType;
  out["os"] = OsName();
  out["kernel"] = fmt::format("{} {}", system.sysname, system.release);
  out["architecture"] = system.machine;
  out["cpu"] = ProcValue("/proc/cpuinfo", "model name");
  out["host_vectors"] = VectorsInUse();
  out["cpu_mhz"] = ProcValue("/proc/cpuinfo", "cpu MHz");
  out["cpu_flags"] = ProcValue("/proc/cpuinfo", "flags");
  out["cpu_governor"] = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  out["cores"] = std::thread::hardware_concurrency();
  out["memory"] = ProcValue("/proc/meminfo", "MemTotal");
  out["load_average"] = FirstLine("/proc/loadavg");
  out["variables"] = ListRelevantVariables();
  return out;
}

std::string ProcessorClassOf(std::string_view machine, std::string_view flags) {
  const bool x86 = machine == "x86_64";
  const std::vector<std::string_view> words = Split(flags, ' ');
  for (const Level& level : x86 ? std::span<const Level>(kX86) : std::span<const Level>(kArm)) {
    if (std::ranges::find(words, level.flag) != words.end()) {
      return fmt::format("{}-{}", x86 ? "x86-64" : machine, level.name);
    }
  }
  return std::string(x86 ? "x86-64" : machine);
}

std::string ProcessorClass() {
  utsname system{};
  uname(&system);
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return ProcessorClassOf(system.machine, std::string_view(line).substr(colon + 1));
  }
  return ProcessorClassOf(system.machine, "");
}

}  // namespace assay
