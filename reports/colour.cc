// SPDX-License-Identifier: Apache-2.0
#include "reports/colour.h"

#include <fmt/format.h>

#include "harness/core/base/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

std::string_view CodeOfTone(std::string_view tone) {
  if (tone == "ok") return "32";
  if (tone == "warn") return "33";
  if (tone == "off") return "2";
  return tone == "broken" ? "35" : "31";
}

// Finds "pass" in "11 pass 0.22".
std::string_view OutcomeIn(std::string_view part) {
  for (const std::string_view word : Split(part, ' ')) {
    if (GravityOf(word) < VerdictStyles().size()) return word;
  }
  return "";
}

}  // namespace

std::string InColour(bool colour, std::string_view code, const std::string& text) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string_view ColourOf(std::string_view outcome) {
  return CodeOfTone(StyleOf(outcome).tone);
}

std::string PaintOutcomes(const std::string& text) {
  std::string out;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view outcome = OutcomeIn(part);
    if (!out.empty()) out += ',';
    out += InColour(!outcome.empty(), ColourOf(outcome), std::string(part));
  }
  return out;
}

}  // namespace assay
