// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/verdict.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array<std::string_view, kResultClassCount> kClasses = {"bit_exact", "within_class", "within_lower_class",
                                                                      "suspect", "none"};

constexpr std::array<int, 7> kExitOrder = {130, 2, 3, 5, 1, 4, 0};

bool IsWithoutResult(Verdict verdict) {
  return verdict == Verdict::kUnsupported || verdict == Verdict::kUnavailable;
}

int Worse(int a, int b) {
  const auto rank = [](int code) { return std::find(kExitOrder.begin(), kExitOrder.end(), code); };
  return rank(a) < rank(b) ? a : b;
}

}  // namespace

std::string_view Name(ResultClass result_class) {
  return kClasses[static_cast<size_t>(result_class)];
}

int ExitCode(std::span<const Verdict> verdicts, const ExitFlags& flags) {
  int code = 0;
  if (flags.interrupted) code = Worse(code, 130);
  if (flags.usage_error) code = Worse(code, 2);
  if (flags.device_lost) code = Worse(code, 3);
  if (flags.required_backend_absent) code = Worse(code, 5);
  if (flags.unexpected_pass || (flags.strict && (flags.suspects || flags.invalid_times))) code = Worse(code, 1);
  for (const Verdict verdict : verdicts) {
    if (flags.stopped && verdict == Verdict::kMissing) continue;
    code = Worse(code, ExitCodeOf(verdict));
    if (flags.strict && verdict == Verdict::kInconclusive) code = Worse(code, 1);
  }
  if (std::all_of(verdicts.begin(), verdicts.end(), IsWithoutResult)) code = Worse(code, 4);
  return code;
}

}  // namespace assay
