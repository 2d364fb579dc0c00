// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/verdict_kind.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

struct VerdictInfo {
  std::string_view name;
  int exit_code;
};

constexpr std::array<VerdictInfo, kVerdictCount> kVerdicts = {{
    {"pass", 0},
    {"below_contract", 1},
    {"mismatch", 1},
    {"nondeterministic", 1},
    {"flaky", 1},
    {"inconclusive", 0},
    {"unsupported", 0},
    {"unavailable", 0},
    {"crash", 3},
    {"timeout", 3},
    {"error", 3},
    {"missing", 3},
}};

}  // namespace

std::string_view Name(Verdict verdict) {
  return kVerdicts[static_cast<size_t>(verdict)].name;
}

int ExitCodeOf(Verdict verdict) {
  return kVerdicts[static_cast<size_t>(verdict)].exit_code;
}

Result<Verdict> ParseVerdict(std::string_view name) {
  std::string known;
  for (size_t k = 0; k < kVerdicts.size(); ++k) {
    if (kVerdicts[k].name == name) return static_cast<Verdict>(k);
    known += fmt::format("{}{}", k == 0 ? "" : ", ", kVerdicts[k].name);
  }
  return UsageError(fmt::format("unknown verdict '{}'; known: {}", name, known));
}

}  // namespace assay
