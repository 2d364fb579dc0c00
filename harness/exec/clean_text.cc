// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/clean_text.h"

#include <cstdint>

namespace assay {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the first byte begins no valid character
};

// One character by Unicode's table 3-7: no overlong form, no surrogate, nothing above U+10FFFF.
Character Decode(std::string_view s) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < bytes) return {};
  uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

bool IsDropped(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool reorders = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return control || reorders;
}

}  // namespace

std::string CleanText(std::string_view text, size_t max_bytes, Lines lines) {
  std::string out;
  size_t cut = 0;  // the longest prefix of `out`, in whole characters, that leaves room for "..."
  while (!text.empty()) {
    const Character c = Decode(text);
    std::string_view piece = c.bytes == 0 ? kReplacement : text.substr(0, c.bytes);
    if (c.code == '\n' && lines == Lines::kJoin) piece = " ";
    if (c.code == '\t') piece = " ";
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
    if (c.bytes != 0 && c.code != '\n' && c.code != '\t' && IsDropped(c.code)) continue;
    if (out.size() + piece.size() > max_bytes) {
      out.resize(cut);
      return out + "...";
    }
    out += piece;
    if (out.size() + 3 <= max_bytes) cut = out.size();
  }
  return out;
}

}  // namespace assay
