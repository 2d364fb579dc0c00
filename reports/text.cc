// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <fmt/format.h>

#include <cstdint>

#include "harness/core/base/utf8.h"

namespace assay {
namespace {

bool AllowedInXml(uint32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0x7F && c != 0xFFFE && c != 0xFFFF;
}

void AppendEscaped(std::string& out, uint32_t c, std::string_view bytes) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    // Character references, because an XML parser turns bare line breaks of an attribute into spaces.
    case '\n':
      out += "&#10;";
      break;
    case '\r':
      out += "&#13;";
      break;
    case '\t':
      out += "&#9;";
      break;
    default:
      if (AllowedInXml(c)) out += bytes;
  }
}

template <class F>
void EachCodePoint(std::string_view text, F&& f) {
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    const size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    c.bytes == 0 ? f(0xFFFDu, kReplacementCharacter) : f(c.code, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  EachCodePoint(text, [&](uint32_t c, std::string_view bytes) { AppendEscaped(out, c, bytes); });
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  EachCodePoint(text, [&](uint32_t c, std::string_view bytes) {
    const bool control = c < 0x20 || (c >= 0x7F && c <= 0x9F);
    const bool reorders = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    if (c == '\n') {
      out += "\\n";
    } else if (control) {
      out += fmt::format("\\x{:02x}", c);
    } else if (reorders) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += bytes;
    }
  });
  return out;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  EachCodePoint(text, [&](uint32_t, std::string_view bytes) { out += bytes; });
  return out;
}

}  // namespace assay
