// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text, for whoever has to tell text from other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the first byte begins no valid character
};

// The first character, by Unicode's table 3-7: no overlong form, no surrogate, nothing above U+10FFFF. Precondition:
// the text is not empty.
Utf8Character DecodeUtf8(std::string_view text);

// Where the first byte is that no text file holds: it belongs to no valid character, or is a control character other
// than tab, line feed and carriage return. npos: it is text.
size_t FindNonText(std::string_view bytes);

}  // namespace assay
