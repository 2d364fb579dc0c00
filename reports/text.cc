// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace assay {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // 0: not valid UTF-8 here
};

CodePoint Decode(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead >= 0xF5 || s.size() < length) return {};
  uint32_t value = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

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
    // As references, because an XML parser turns bare line breaks of an attribute into spaces.
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
    const CodePoint c = Decode(text);
    const size_t length = c.length == 0 ? 1 : c.length;
    c.length == 0 ? f(0xFFFDu, kReplacement) : f(c.value, text.substr(0, length));
    text.remove_prefix(length);
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
