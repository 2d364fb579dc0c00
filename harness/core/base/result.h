// SPDX-License-Identifier: Apache-2.0
// Errors are values: a function that can fail for a reason outside the program returns Result<T>. A message says
// what was wrong, where, and what to do about it. Programmer errors are ASSAY_CHECKs and abort.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace assay {

enum class ErrorCode {
  kUsage,        // the user asked for something that cannot be: exit code 2
  kUnsupported,  // a backend does not offer it
  kUnavailable,  // no device, no driver
  kIo,           // files, memory, processes
  kInternal,     // everything else
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
inline tl::unexpected<Error> UsageError(std::string message) {
  return Fail(ErrorCode::kUsage, std::move(message));
}

}  // namespace assay
