// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/function_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace assay {
namespace {

constexpr int64_t kSampledPairs = int64_t{1} << 21;

int BitsOf(DType type) {
  return 8 * SizeOf(type);
}

}  // namespace

FunctionInputs::FunctionInputs(DType type, int64_t pairs)
    : type_(type), pairs_(pairs), skipped_bits_(BitsOf(type) - std::bit_width(static_cast<uint64_t>(pairs))) {}

FunctionInputs FunctionInputs::MakeSample(DType type) {
  return {type, BitsOf(type) <= 16 ? int64_t{1} << (BitsOf(type) - 1) : kSampledPairs};
}

FunctionInputs FunctionInputs::MakeAll(DType type) {
  return {type, int64_t{1} << (BitsOf(type) - 1)};
}

void FunctionInputs::Fill(int64_t first, Tensor& x) const {
  const auto size = static_cast<size_t>(SizeOf(type_));
  const int64_t half = x.size() / 2;
  const uint64_t sign = uint64_t{1} << (BitsOf(type_) - 1);
  for (int64_t i = 0; i < half; ++i) {
    const auto pair = static_cast<uint64_t>(first + i);
    // At even distances, so that each power of two has as many; every other one with digits at the end.
    const uint64_t digits = pair % 2 == 0 || skipped_bits_ == 0 ? 0 : pair * 0x9E3779B97F4A7C15 >> (64 - skipped_bits_);
    const uint64_t positive = pair << skipped_bits_ | digits, negative = positive | sign;
    std::memcpy(x.data() + size * static_cast<size_t>(i), &positive, size);  // little-endian
    std::memcpy(x.data() + size * static_cast<size_t>(half + i), &negative, size);
  }
}

}  // namespace assay
