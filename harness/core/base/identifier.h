// SPDX-License-Identifier: Apache-2.0
// Names that programs give, of variables and of operators: letters, digits and _, no digit first.
#pragma once

#include <algorithm>
#include <string_view>

namespace assay {

inline bool IsIdentifier(std::string_view name) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, is_part);
}

}  // namespace assay
