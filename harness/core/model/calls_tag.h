// SPDX-License-Identifier: Apache-2.0
// The tag "calls-12" of a case that stands for 12 calls of a program: reports weight shares by it.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/core/base/text.h"

namespace assay {

inline constexpr std::string_view kCallsTag = "calls-";

// 12 of "calls-12"; 0 of other tags.
inline int64_t CallsOfTag(std::string_view tag) {
  return tag.starts_with(kCallsTag) ? ParseNumber<int64_t>(tag.substr(kCallsTag.size())).value_or(0) : 0;
}

}  // namespace assay
