// SPDX-License-Identifier: Apache-2.0
// Worker side: room for a plugin's error text, and the answers that carry it.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/abi/assay_backend.h"
#include "harness/exec/wire/protocol.h"

namespace assay {

class ErrorText {
 public:
  ErrorText() = default;
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;
  assay_text* out() { return &text_; }
  // Up to the end of the buffer, should the plugin have forgotten the terminator.
  std::string str() const { return {buffer_, ::strnlen(buffer_, sizeof buffer_)}; }

 private:
  char buffer_[kMaxTextBytes] = {};
  assay_text text_{sizeof(assay_text), buffer_, sizeof buffer_};
};

inline Json Ok() {
  return {{"status", ASSAY_OK}};
}
inline Json Failed(assay_status status, std::string text) {
  return {{"status", status}, {"text", std::move(text)}};
}

// The plugin's failure in its function `function`.
Json PluginFailed(assay_status status, const char* function, const ErrorText& error);

// A plugin's string, bounded before it is sent; null stays null, so that the host can name what is absent.
inline Json PluginString(const char* text, size_t max_bytes) {
  if (text == nullptr) return nullptr;
  return std::string(text, ::strnlen(text, max_bytes + 1));  // one more than allowed: the host marks the cut
}

}  // namespace assay
