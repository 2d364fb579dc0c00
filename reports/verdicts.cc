// SPDX-License-Identifier: Apache-2.0
#include "reports/verdicts.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array<VerdictStyle, 15> kStyles = {{
    {"crash", "☠\uFE0E", "broken", "The worker process died. The run went on with a fresh one."},
    {"timeout", "◷", "broken", "No answer within the time limit; the worker was stopped."},
    {"error", "⚠\uFE0E", "broken", "The backend or the harness reported an error."},
    {"missing", "?", "broken", "Planned, but no record was written."},
    {"mismatch", "✗", "bad", "An element lies outside what any correct implementation of the contract can produce."},
    {"nondeterministic", "≠", "bad", "Deterministic results are claimed or required, and bits changed between runs."},
    {"flaky", "↯", "bad", "It broke once and ended otherwise when it was run once more, alone in a fresh worker."},
    {"below_contract", "▼", "low", "Correct only in a weaker arithmetic than the suite requires."},
    {"unexpected_pass", "!", "low", "Listed as a known failure, but it passed: the list is out of date."},
    {"inconclusive", "◌", "warn", "Nothing failed, but this case could not have caught a fault. It proves nothing."},
    {"known_failure", "⊘", "warn", "Fails as the list of expectations says."},
    {"known_flake", "⊘", "warn", "Fails now and then, as the list of expectations says."},
    {"pass", "✓", "ok", "Every applicable check holds within the required contract."},
    {"unsupported", "–", "off", "The backend does not offer this case, for the reason given."},
    {"unavailable", "∅", "off", "The device or driver is not there."},
}};

constexpr VerdictStyle kUnknown = {"", "?", "broken", ""};

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
