// SPDX-License-Identifier: Apache-2.0
// Elements in memory and in the accumulator's type. What is loaded in inner loops has a type of its own; what is loaded
// or stored once per result (addends, outputs) is told by a tag, so that kernels do not multiply.
#pragma once

#include "backends/gpu/device/tags.h"
#include "backends/gpu/device/vendor.h"

namespace gpu {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <class T>
struct AccumulatorOf {
  using Type = float;
};
template <>
struct AccumulatorOf<double> {
  using Type = double;
};
template <>
struct AccumulatorOf<int8_t> {
  using Type = int32_t;
};
template <class T>
using Acc = typename AccumulatorOf<T>::Type;

// The bits of another type of the same size.
template <class To, class From>
GPU_DEVICE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

GPU_DEVICE float ToAcc(float x) {
  return x;
}
GPU_DEVICE double ToAcc(double x) {
  return x;
}
GPU_DEVICE int32_t ToAcc(int8_t x) {
  return x;
}
GPU_DEVICE float ToAcc(Half x) {
  return HalfToFloat(x.bits);
}
GPU_DEVICE float ToAcc(BFloat x) {
  return BitCast<float>(static_cast<uint32_t>(x.bits) << 16);
}

// To nearest even; NaN becomes the quiet NaN of its sign.
GPU_DEVICE uint16_t FloatToBFloat(float value) {
  const uint32_t bits = BitCast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7FC0u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

template <class T>
GPU_DEVICE T Narrow(float value);
template <>
GPU_DEVICE Half Narrow<Half>(float value) {
  return {FloatToHalf(value)};
}
template <>
GPU_DEVICE BFloat Narrow<BFloat>(float value) {
  return {FloatToBFloat(value)};
}

// f8e5m2 is the upper half of an f16; f8e4m3fn has its fields one bit lower, a bias of 7 and a NaN but no infinity.
GPU_DEVICE float E5M2ToFloat(uint8_t bits) {
  return HalfToFloat(static_cast<uint16_t>(bits << 8));
}
GPU_DEVICE float E4M3ToFloat(uint8_t bits) {
  const int magnitude = bits & 0x7F, sign = (bits & 0x80) << 8;
  return magnitude == 0x7F ? HalfToFloat(0x7E00) : HalfToFloat(static_cast<uint16_t>(sign | (magnitude << 7))) * 256;
}

// To nearest even; beyond the largest number f8e4m3fn has NaN and f8e5m2 infinity.
template <int kMantissa>
GPU_DEVICE uint8_t FloatTo8Bits(float value) {
  constexpr int kBias = kMantissa == 3 ? 7 : 15;
  constexpr uint32_t kBeyond = kMantissa == 3 ? 0x7F : 0x7C;
  const uint32_t bits = BitCast<uint32_t>(value), sign = (bits >> 24) & 0x80u;
  const int exponent = static_cast<int>((bits >> 23) & 0xFFu) - 127;
  if (value != value) return static_cast<uint8_t>(sign | 0x7Fu);
  if (exponent == 128) return static_cast<uint8_t>(sign | kBeyond);
  if (exponent < -kBias - kMantissa) return static_cast<uint8_t>(sign);  // less than half the smallest number
  const bool is_subnormal = exponent < 1 - kBias;
  const int shift = 23 - kMantissa + (is_subnormal ? 1 - kBias - exponent : 0);
  const uint32_t significand = (bits & 0x7FFFFFu) | 0x800000u, half = 1u << (shift - 1);
  const uint32_t rest = significand & (2 * half - 1), whole = significand >> shift;
  const uint32_t rounded = whole + (rest > half || (rest == half && (whole & 1u) != 0) ? 1 : 0);
  // A normal number carries its hidden bit into the exponent's field.
  const uint32_t code = rounded + (is_subnormal ? 0 : static_cast<uint32_t>(exponent + kBias - 1) << kMantissa);
  return static_cast<uint8_t>(sign | (code < kBeyond ? code : kBeyond));
}

GPU_DEVICE int32_t MultiplyAdd(int32_t a, int32_t b, int32_t c) {
  return a * b + c;
}

template <class A>
GPU_DEVICE A Load(const void* data, Tag tag, int64_t index) {
  switch (tag) {
    case Tag::kF64:
      return static_cast<A>(static_cast<const double*>(data)[index]);
    case Tag::kF32:
      return static_cast<A>(static_cast<const float*>(data)[index]);
    case Tag::kF16:
      return static_cast<A>(ToAcc(static_cast<const Half*>(data)[index]));
    case Tag::kBF16:
      return static_cast<A>(ToAcc(static_cast<const BFloat*>(data)[index]));
    case Tag::kI8:
      return static_cast<A>(static_cast<const int8_t*>(data)[index]);
    case Tag::kI32:
      return static_cast<A>(static_cast<const int32_t*>(data)[index]);
    case Tag::kI64:
      return static_cast<A>(static_cast<const int64_t*>(data)[index]);
    case Tag::kU8:
      return static_cast<A>(static_cast<const uint8_t*>(data)[index]);
    case Tag::kE4M3:
      return static_cast<A>(E4M3ToFloat(static_cast<const uint8_t*>(data)[index]));
    case Tag::kE5M2:
      return static_cast<A>(E5M2ToFloat(static_cast<const uint8_t*>(data)[index]));
  }
  return A{};
}

// Rounds once, to nearest even. A double is never stored in 8 or 16 bits: that would be two roundings.
template <class A>
GPU_DEVICE void Store(void* data, Tag tag, int64_t index, A value) {
  switch (tag) {
    case Tag::kF64:
      static_cast<double*>(data)[index] = static_cast<double>(value);
      return;
    case Tag::kF32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case Tag::kF16:
      static_cast<Half*>(data)[index] = Narrow<Half>(static_cast<float>(value));
      return;
    case Tag::kBF16:
      static_cast<BFloat*>(data)[index] = Narrow<BFloat>(static_cast<float>(value));
      return;
    case Tag::kI8:
      static_cast<int8_t*>(data)[index] = static_cast<int8_t>(value);
      return;
    case Tag::kI32:
      static_cast<int32_t*>(data)[index] = static_cast<int32_t>(value);
      return;
    case Tag::kI64:
      static_cast<int64_t*>(data)[index] = static_cast<int64_t>(value);
      return;
    case Tag::kU8:
      static_cast<uint8_t*>(data)[index] = static_cast<uint8_t>(value);
      return;
    case Tag::kE4M3:
      static_cast<uint8_t*>(data)[index] = FloatTo8Bits<3>(static_cast<float>(value));
      return;
    case Tag::kE5M2:
      static_cast<uint8_t*>(data)[index] = FloatTo8Bits<2>(static_cast<float>(value));
      return;
  }
}

// `value` as it would be after Store and Load.
template <class A>
GPU_DEVICE A Rounded(Tag tag, A value) {
  if (tag == Tag::kF16) return static_cast<A>(ToAcc(Narrow<Half>(static_cast<float>(value))));
  if (tag == Tag::kBF16) return static_cast<A>(ToAcc(Narrow<BFloat>(static_cast<float>(value))));
  if (tag == Tag::kF32) return static_cast<A>(static_cast<float>(value));
  return value;
}

// kCount elements that are loaded as one where they lie so.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T at[kCount];
};

// `count` elements from `offset` on, `step` apart, then zeros.
template <class T, int kCount>
GPU_DEVICE Pack<T, kCount> LoadPack(const T* data, int64_t offset, int64_t step, int64_t count) {
  const T* first = data + offset;
  if (step == 1 && count >= kCount && reinterpret_cast<uintptr_t>(first) % (sizeof(T) * kCount) == 0) {
    return *reinterpret_cast<const Pack<T, kCount>*>(first);
  }
  Pack<T, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.at[i] = i < count ? first[i * step] : T{};
  return pack;
}

}  // namespace gpu
