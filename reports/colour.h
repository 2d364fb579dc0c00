// SPDX-License-Identifier: Apache-2.0
// Colours of a terminal. A word always stands beside them, so that nothing is said by colour alone.
#pragma once

#include <string>
#include <string_view>

namespace assay {

std::string InColour(bool colour, std::string_view code, const std::string& text);
inline constexpr std::string_view kBold = "1";

// The code of an outcome: green what passes, red what fails, magenta what broke, yellow what proves nothing or is
// known, dim what did not run.
std::string_view ColourOf(std::string_view outcome);

// "1 mismatch, 11 pass 0.22", or an outcome alone: each part in its colour. Other text is left as it is.
std::string PaintOutcomes(const std::string& text);

}  // namespace assay
