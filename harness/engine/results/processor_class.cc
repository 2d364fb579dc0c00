// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/processor_class.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <vector>

#include "harness/core/base/text.h"

namespace assay {
namespace {

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
