// SPDX-License-Identifier: Apache-2.0
// How the HTML report shows each outcome: a symbol and a tone beside the word, so that colour is never the only sign.
#pragma once

#include <span>
#include <string_view>

namespace assay {

struct VerdictStyle {
  std::string_view name;
  std::string_view symbol;
  std::string_view tone;  // a CSS class: ok bad low broken warn off
  std::string_view meaning;
};

std::span<const VerdictStyle> VerdictStyles();  // the gravest first
const VerdictStyle& StyleOf(std::string_view outcome);
size_t GravityOf(std::string_view outcome);  // its place in VerdictStyles()

}  // namespace assay
