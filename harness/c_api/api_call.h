// SPDX-License-Identifier: Apache-2.0
// Wraps every function of the C API: no exception escapes, errors become a code and a text, and golden arithmetic gets
// its floating-point environment, whatever the caller's is.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/c_api/assay/assay.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/result.h"

namespace assay::c_api {

// Keeps the text for assay_last_error and gives the code.
int32_t SetError(int32_t code, std::string_view message) noexcept;
int32_t SetError(const Error& error) noexcept;
// Sets the error of the exception that is being handled.
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

// Size of a struct in its first version. A struct that has grown keeps it.
template <class Struct>
inline constexpr uint64_t kFirstSize = 0;
template <>
inline constexpr uint64_t kFirstSize<assay_array> = offsetof(assay_array, type) + sizeof(assay_array::type);
template <>
inline constexpr uint64_t kFirstSize<assay_question> = offsetof(assay_question, tier) + sizeof(assay_question::tier);
template <>
inline constexpr uint64_t kFirstSize<assay_selection> = offsetof(assay_selection, cases) +
                                                        sizeof(assay_selection::cases);

// Structs grow by multiples of 8 bytes, as assay.h says, so that none ends in padding: nobody sets that, and an older
// library would take what is there for a member that is set. `end` is where the last member of today ends.
template <class Struct, uint64_t end = kFirstSize<Struct>>
inline constexpr bool kEndsWithoutPadding = kFirstSize<Struct> % 8 == 0 &&
                                            sizeof(Struct) % 8 == 0 && end == sizeof(Struct);
static_assert(kEndsWithoutPadding<assay_array>);
static_assert(
    kEndsWithoutPadding<assay_question, offsetof(assay_question, sample_at) + sizeof(assay_question::sample_at)>);
static_assert(kEndsWithoutPadding<assay_selection>);

// No struct will ever have so many bytes.
inline constexpr uint64_t kSizeBeyondDoubt = 1 << 16;

// A caller's struct as this version knows it: what an older header lacks is zero. Errors: it is smaller than it ever
// was, or a newer one sets what is not known here, or there is none.
template <class Struct>
Result<Struct> Known(const Struct* given, const char* what) {
  static_assert(kFirstSize<Struct> > 0);
  if (given == nullptr) return UsageError(std::string(what) + " is NULL");
  const uint64_t size = given->struct_size;
  if (size < kFirstSize<Struct> || size > kSizeBeyondDoubt) {
    return UsageError(std::string(what) + ": struct_size is " + std::to_string(size) +
                      "; set it to the size of the struct, at least " + std::to_string(kFirstSize<Struct>));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char b) { return b != 0; })) {
    return UsageError(
        std::string(what) + ": a member is set that this library (" + assay_version() +
        ") does not know; use the library of the header that the program was compiled with, or a later one");
  }
  Struct known{};
  std::memcpy(&known, given, std::min<uint64_t>(size, sizeof(Struct)));
  return known;
}

inline std::string TextOr(const char* text, const char* otherwise = "") {
  return text == nullptr ? otherwise : text;
}

}  // namespace assay::c_api
