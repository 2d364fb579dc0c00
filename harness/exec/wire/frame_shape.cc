// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/frame_shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

// Of the string that begins with the quote at `begin`: where its closing quote stands, or the end of the text.
size_t EndOfString(std::string_view json, size_t begin) {
  size_t at = begin + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return std::min(at, json.size());
}

tl::unexpected<Error> Exceeds(const char* what, size_t limit) {
  return Fail(ErrorCode::kInternal, fmt::format("a message has {} {}", what, limit));
}

}  // namespace

Status CheckShape(std::string_view json) {
  size_t depth = 0, values = 1;
  for (size_t at = 0; at < json.size(); ++at) {
    switch (json[at]) {
      case '"': {
        const size_t end = EndOfString(json, at);
        if (end - at > kMaxFrameStringBytes) return Exceeds("a text of more bytes than", kMaxFrameStringBytes);
        at = end;
        break;
      }
      case '[':
      case '{':
        if (++depth > kMaxFrameDepth) return Exceeds("values nested deeper than", kMaxFrameDepth);
        ++values;
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1 : 0;
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > kMaxFrameValues) return Exceeds("more values than", kMaxFrameValues);
  }
  return {};
}

}  // namespace assay
