// SPDX-License-Identifier: Apache-2.0
// What every function of the C API has around it: nothing is thrown across, errors become a code and a text, and golden
// arithmetic has its floating-point environment, whatever the caller's is.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/base/float_environment.h"
#include "harness/base/result.h"
#include "harness/c_api/assay/assay.h"

namespace assay::c_api {

// Keeps the text for assay_last_error and gives the code.
int32_t SetError(int32_t code, std::string_view message) noexcept;
int32_t SetError(const Error& error) noexcept;
// Of the exception that is being handled.
int32_t SetErrorOfException() noexcept;

class FloatScope {
 public:
  FloatScope() {
    std::fegetenv(&callers_);
    RestoreFloatEnvironment();
  }
  ~FloatScope() { std::fesetenv(&callers_); }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  std::fenv_t callers_;
};

// Status body().
template <class Body>
int32_t Call(Body body) noexcept {
  try {
    const FloatScope scope;
    const Status status = body();
    return status ? ASSAY_RESULT_OK : SetError(status.error());
  } catch (...) {
    return SetErrorOfException();
  }
}

// A caller's struct as this version knows it: what an older header lacks is zero, what a newer one adds is left out.
// `least`: the size of the first version. Error: it is smaller, or there is none.
template <class Struct>
Result<Struct> Known(const Struct* given, const char* what, uint64_t least = sizeof(Struct)) {
  if (given == nullptr) return UsageError(std::string(what) + " is NULL");
  if (given->struct_size < least) {
    return UsageError(std::string(what) + ": struct_size is " + std::to_string(given->struct_size) +
                      "; set it to the size of the struct, at least " + std::to_string(least));
  }
  Struct known{};
  std::memcpy(&known, given, std::min<uint64_t>(given->struct_size, sizeof(Struct)));
  return known;
}

inline std::string TextOr(const char* text, const char* otherwise = "") {
  return text == nullptr ? otherwise : text;
}

}  // namespace assay::c_api
