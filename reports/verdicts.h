// SPDX-License-Identifier: Apache-2.0
// Every outcome, the gravest first: what it means for the run, and how reports show it: a symbol and a tone beside the
// word, so that colour is never the only sign.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

// Categories of JUnit.
enum class Standing : uint8_t {
  kPass,
  kFailure,
  kError,    // nothing was judged, or it is no outcome that this version knows
  kSkipped,  // it did not fail, but a green case would claim what was not tested
};

struct VerdictStyle {
  std::string_view name;
  Standing standing;
  std::string_view symbol;
  std::string_view tone;  // a CSS class: ok bad low broken warn off
  std::string_view meaning;
};

std::span<const VerdictStyle> VerdictStyles();  // the gravest first
const VerdictStyle& StyleOf(std::string_view outcome);
size_t GravityOf(std::string_view outcome);  // its place in VerdictStyles()

}  // namespace assay
