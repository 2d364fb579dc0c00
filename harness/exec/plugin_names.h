// SPDX-License-Identifier: Apache-2.0
// Rules for the names of plugins and implementations, which appear in options, files and reports.
#pragma once

#include <string_view>

namespace assay {

inline bool ConsistsOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == text.npos;
}

inline bool IsBackendName(std::string_view text) {
  return ConsistsOf(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");
}
inline bool IsImplementationName(std::string_view text) {
  return ConsistsOf(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
}

}  // namespace assay
