// SPDX-License-Identifier: Apache-2.0
// Arithmetic of oneDNN's kernels, derived from their names alone. Nothing here calls the library, so that tests cover
// instruction sets and releases that the machine does not have.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/common/dtype.h"

namespace onednn {

// Sums of products of integers: `terms` of them in each element of the output.
struct IntegerSum {
  enum class Operator { kMatmul, kConvolution };
  Operator op = Operator::kMatmul;
  plugin::DType a, b;  // a is the left operand or the image
  int64_t terms = 0;
};

// The contract of sums in s32, for an implementation named as query() names it.
std::string IntegerContract(const IntegerSum& sum, std::string_view implementation);

// ";ftz=all", ";ftz=out" or "": what sums of products of floating-point numbers flush. `is_narrow`: some are bf16.
std::string FlushOfProducts(bool is_narrow, plugin::DType out, std::string_view implementation);

// Whether sums of products of bytes are formed in 16 bits, where they saturate (oneDNN, developer guide, nuances of
// int8 computations): the instructions for AVX-512 without VNNI do that, whose kernels 3.x offers beside those with
// VNNI.
bool SaturatesSumsOfBytes(std::string_view implementation);

struct Version {
  int major = 0, minor = 0;
  auto operator<=>(const Version&) const = default;
};

// Whether this release's implementation writes outside of its output. Such a one is not offered: what it damages is
// memory of something else, and the error would show far from its cause.
bool WritesPastItsOutput(std::string_view implementation, Version version);

}  // namespace onednn
