// SPDX-License-Identifier: Apache-2.0
// Text as XML 1.0 and HTML allow it. Reasons and names come from plugins, so nothing about them is taken for granted.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// For element text and quoted attributes of XML and HTML: markup escaped, line breaks kept as character references,
// characters that XML 1.0 forbids dropped, invalid UTF-8 replaced by U+FFFD.
std::string Escaped(std::string_view text);

// For a terminal: control characters and marks that reorder text are shown as \x1b or \u202e instead of being obeyed,
// line breaks as \n; invalid UTF-8 is replaced by U+FFFD.
std::string Printable(std::string_view text);

// Valid UTF-8, invalid bytes replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

}  // namespace assay
