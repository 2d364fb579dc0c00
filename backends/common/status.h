// SPDX-License-Identifier: Apache-2.0
// Errors inside a plugin are exceptions; at the ABI they become a status and a text. This is the only place that
// translates, so that no exception ever leaves a plugin.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "backends/abi/assay_backend.h"

namespace plugin {

// A failure with the status the harness shall see. The text says what failed, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(assay_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  assay_status status() const { return status_; }

 private:
  assay_status status_;
};

// `throw Unsupported("...")`: this backend does not offer the operator as described; not a fault.
template <class... Args>
Error Unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {ASSAY_UNSUPPORTED, fmt::format(format, std::forward<Args>(args)...)};
}

// `throw Unavailable("...")`: there is no usable device; the text names what is missing.
template <class... Args>
Error Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return {ASSAY_UNAVAILABLE, fmt::format(format, std::forward<Args>(args)...)};
}

// `throw StrayWrite("...")`: something wrote where it may not, so that this process cannot be believed any more.
template <class... Args>
Error StrayWrite(fmt::format_string<Args...> format, Args&&... args) {
  return {ASSAY_MEMORY_FAULT, fmt::format(format, std::forward<Args>(args)...)};
}

// `throw Failure("...")`: anything else that went wrong.
template <class... Args>
Error Failure(fmt::format_string<Args...> format, Args&&... args) {
  return {ASSAY_ERROR, fmt::format(format, std::forward<Args>(args)...)};
}

// Copies as much of `text` as fits into the caller's buffer, cut between UTF-8 characters and always terminated.
// Does nothing when there is no buffer.
void WriteText(assay_text* out, std::string_view text) noexcept;

// Status and text of the exception in flight. To be called from a catch block.
assay_status ReportCurrentException(assay_text* error) noexcept;

// Runs `body` and turns whatever it throws into a status and a text.
template <class Body>
assay_status Guarded(assay_text* error, Body&& body) noexcept {
  try {
    body();
    return ASSAY_OK;
  } catch (...) {
    return ReportCurrentException(error);
  }
}

}  // namespace plugin
