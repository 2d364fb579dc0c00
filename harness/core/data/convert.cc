// SPDX-License-Identifier: Apache-2.0
// Bulk conversion between storage and double: simple loops for the vectoriser, in parallel over chunks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/core/base/check.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/dtype.h"
#include "harness/core/data/narrow_float.h"

namespace assay {
namespace {

using internal::BF16;
using internal::E4M3;
using internal::E5M2;
using internal::F16;

constexpr int64_t kGrain = 1 << 15;  // values: small enough for the second-level cache, large enough to hide the call

// One of the narrow formats each; the multiversioned functions cannot be templates.
ASSAY_MULTIVERSION void DecodeF16(const uint16_t* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = F16::Decode(in[i]);
}
ASSAY_MULTIVERSION void DecodeBF16(const uint16_t* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}
ASSAY_MULTIVERSION void DecodeF32(const float* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i];
}
ASSAY_MULTIVERSION void DecodeE4M3(const uint8_t* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = E4M3::Decode(in[i]);
}
ASSAY_MULTIVERSION void DecodeE5M2(const uint8_t* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = E5M2::Decode(in[i]);
}
ASSAY_MULTIVERSION void EncodeF16(const double* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = F16::Encode(in[i]);
}
ASSAY_MULTIVERSION void EncodeBF16(const double* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = BF16::Encode(in[i]);
}
ASSAY_MULTIVERSION void EncodeF32(const double* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}
ASSAY_MULTIVERSION void EncodeE4M3(const double* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = E4M3::Encode(in[i]);
}
ASSAY_MULTIVERSION void EncodeE5M2(const double* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = E5M2::Encode(in[i]);
}

template <class T>
void DecodeInt(const T* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(in[i]);
}

// Any byte but 0 is true.
void DecodeBool(const uint8_t* in, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] != 0 ? 1 : 0;
}

template <class T>
void EncodeInt(const double* in, T* out, int64_t n) {
  // Both limits as doubles: -2^63 is exact, and 2^63 - 1 converts to 2^63, the first value that no longer fits.
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  for (int64_t i = 0; i < n; ++i) {
    const double x = std::nearbyint(in[i]);
    if (x >= kHigh) {
      out[i] = std::numeric_limits<T>::max();
    } else if (x <= kLow) {
      out[i] = std::numeric_limits<T>::min();
    } else {
      out[i] = std::isnan(x) ? T{0} : static_cast<T>(x);
    }
  }
}

void EncodeBool(const double* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] > 0 ? 1 : 0;
}

template <class T>
void Widen(const void* storage, std::span<int64_t> values) {
  std::copy_n(static_cast<const T*>(storage), values.size(), values.begin());
}

template <class Storage>
void Decode(void (*loop)(const Storage*, double*, int64_t), const void* storage, std::span<double> values) {
  const auto* in = static_cast<const Storage*>(storage);
  // Single values are converted by the thousand: they need no function object.
  if (std::ssize(values) <= kGrain) return loop(in, values.data(), std::ssize(values));
  ParallelFor(std::ssize(values), kGrain,
              [=](int64_t begin, int64_t end) { loop(in + begin, values.data() + begin, end - begin); });
}

template <class Storage>
void Encode(void (*loop)(const double*, Storage*, int64_t), std::span<const double> values, void* storage) {
  auto* out = static_cast<Storage*>(storage);
  if (std::ssize(values) <= kGrain) return loop(values.data(), out, std::ssize(values));
  ParallelFor(std::ssize(values), kGrain,
              [=](int64_t begin, int64_t end) { loop(values.data() + begin, out + begin, end - begin); });
}

// Calls f with the loops that read and write the type, whose elements or parts of elements are no f64.
template <class F>
void WithLoops(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return;
    case DType::kF32:
    case DType::kC64:
      return f(DecodeF32, EncodeF32);
    case DType::kF16:
      return f(DecodeF16, EncodeF16);
    case DType::kBF16:
      return f(DecodeBF16, EncodeBF16);
    case DType::kE4M3:
      return f(DecodeE4M3, EncodeE4M3);
    case DType::kE5M2:
      return f(DecodeE5M2, EncodeE5M2);
    case DType::kI8:
      return f(DecodeInt<int8_t>, EncodeInt<int8_t>);
    case DType::kI16:
      return f(DecodeInt<int16_t>, EncodeInt<int16_t>);
    case DType::kU8:
      return f(DecodeInt<uint8_t>, EncodeInt<uint8_t>);
    case DType::kBool:
      return f(DecodeBool, EncodeBool);
    case DType::kI32:
      return f(DecodeInt<int32_t>, EncodeInt<int32_t>);
    case DType::kI64:
      return f(DecodeInt<int64_t>, EncodeInt<int64_t>);
  }
}

bool IsF64(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kC128;
}

}  // namespace

void ToF64(DType dtype, const void* storage, std::span<double> values) {
  if (values.empty()) return;
  if (IsF64(dtype)) std::memcpy(values.data(), storage, values.size_bytes());
  WithLoops(dtype, [&](auto* decode, auto*) { Decode(decode, storage, values); });
}

void FromF64(DType dtype, std::span<const double> values, void* storage) {
  if (values.empty()) return;
  if (IsF64(dtype)) std::memcpy(storage, values.data(), values.size_bytes());
  WithLoops(dtype, [&](auto*, auto* encode) { Encode(encode, values, storage); });
}

void ToI64(DType dtype, const void* storage, std::span<int64_t> values) {
  switch (dtype) {
    case DType::kI8:
      return Widen<int8_t>(storage, values);
    case DType::kI16:
      return Widen<int16_t>(storage, values);
    case DType::kU8:
      return Widen<uint8_t>(storage, values);
    case DType::kBool:
      Widen<uint8_t>(storage, values);
      for (int64_t& value : values) value = value != 0 ? 1 : 0;
      return;
    case DType::kI32:
      return Widen<int32_t>(storage, values);
    case DType::kI64:
      return Widen<int64_t>(storage, values);
    default:
      CheckFailed("ToI64 of a type of integers", __FILE__, __LINE__);
  }
}

}  // namespace assay
