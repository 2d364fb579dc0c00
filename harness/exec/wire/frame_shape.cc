// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/frame_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

// Finds the closing quote of the string that begins at `begin`; the end of the text if there is none.
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
  std::array<size_t, kMaxFrameDepth + 1> members{};  // of the object that is open at each depth
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
        members[depth] = 0;
        ++values;
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1 : 0;
        break;
      case ':':
        if (++members[depth] > kMaxFrameMembers) return Exceeds("an object of more members than", kMaxFrameMembers);
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
