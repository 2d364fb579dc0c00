// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/utf8.h"

namespace assay {

Utf8Character DecodeUtf8(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

size_t FindNonText(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Character c = DecodeUtf8(bytes.substr(at));
    const bool space = c.code == '\t' || c.code == '\n' || c.code == '\r';
    const bool control = (c.code < 0x20 && !space) || (c.code >= 0x7F && c.code <= 0x9F);
    if (c.bytes == 0 || control) return at;
    at += c.bytes;
  }
  return std::string_view::npos;
}

}  // namespace assay
