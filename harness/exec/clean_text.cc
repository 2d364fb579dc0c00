// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/clean_text.h"

#include "harness/core/base/utf8.h"

namespace assay {
namespace {

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
    const Utf8Character c = DecodeUtf8(text);
    std::string_view piece = c.bytes == 0 ? kReplacementCharacter : text.substr(0, c.bytes);
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
