// SPDX-License-Identifier: Apache-2.0
#include "reports/verdicts.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

// In a line each, for pages that stand without the tree; README.md#verdicts-and-exit-codes says the same with exit
// codes, of verdicts, while these are outcomes.
constexpr std::array<VerdictStyle, 15> kStyles = {{
    {"crash", Standing::kError, "☠\uFE0E", "broken", "The worker process died. The run went on with a fresh one."},
    {"timeout", Standing::kError, "◷", "broken", "No answer within the time limit; the worker was stopped."},
    {"error", Standing::kError, "⚠\uFE0E", "broken", "The backend or the harness reported an error."},
    {"missing", Standing::kError, "?", "broken", "Planned, but no record was written."},
    {"mismatch", Standing::kFailure, "✗", "bad",
     "An element lies outside what any correct implementation of the contract can produce."},
    {"nondeterministic", Standing::kFailure, "≠", "bad",
     "Deterministic results are claimed or required, and bits changed between runs."},
    {"flaky", Standing::kFailure, "↯", "bad",
     "It broke once and ended otherwise when it was run once more, alone in a fresh worker."},
    {"below_contract", Standing::kFailure, "▼", "low", "Correct only in a weaker arithmetic than the suite requires."},
    {"unexpected_pass", Standing::kFailure, "!", "low",
     "Listed as a known failure, but it passed: the list is out of date."},
    {"inconclusive", Standing::kSkipped, "◌", "warn",
     "Nothing failed, but this case could not have caught a fault. It proves nothing."},
    {"known_failure", Standing::kSkipped, "⊘", "warn", "Fails as the list of expectations says."},
    {"known_flake", Standing::kSkipped, "⊘", "warn", "Fails now and then, as the list of expectations says."},
    {"pass", Standing::kPass, "✓", "ok", "Every applicable check holds within the required contract."},
    {"unsupported", Standing::kSkipped, "–", "off", "The backend does not offer this case, for the reason given."},
    {"unavailable", Standing::kSkipped, "∅", "off", "The device or driver is not there."},
}};

constexpr VerdictStyle kUnknown = {"", Standing::kError, "?", "broken", ""};

}  // namespace

std::span<const VerdictStyle> VerdictStyles() {
  return kStyles;
}

size_t GravityOf(std::string_view outcome) {
  const auto it = std::find_if(kStyles.begin(), kStyles.end(), [&](const auto& s) { return s.name == outcome; });
  return static_cast<size_t>(it - kStyles.begin());
}

const VerdictStyle& StyleOf(std::string_view outcome) {
  const size_t i = GravityOf(outcome);
  return i < kStyles.size() ? kStyles[i] : kUnknown;
}

}  // namespace assay
