// SPDX-License-Identifier: Apache-2.0
// The closed list of verdicts (README.md#verdicts-and-exit-codes).
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

enum class Verdict : uint8_t {
  kPass,
  kBelowContract,
  kMismatch,
  kNondeterministic,
  kFlaky,  // ends differently from try to try
  kInconclusive,
  kUnsupported,
  kUnavailable,
  kCrash,
  kTimeout,
  kError,
  kMissing,
};
inline constexpr int kVerdictCount = 12;
std::string_view Name(Verdict verdict);  // "below_contract"
int ExitCodeOf(Verdict verdict);         // of a run that has this verdict alone; 0 where there is no result
Result<Verdict> ParseVerdict(std::string_view name);

}  // namespace assay
