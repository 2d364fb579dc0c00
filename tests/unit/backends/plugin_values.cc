// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/backends/plugin_values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace plugin_test {
namespace {

// Sign, exponent and mantissa of a number, zero, infinity or NaN.
uint16_t EncodeF16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7E00;
  if (std::isinf(value)) return sign | 0x7C00;
  if (value == 0) return sign;
  if (std::abs(value) < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<int>(std::abs(value) * 0x1p24));
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);
  return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | static_cast<int>((mantissa * 2 - 1) * 1024));
}

double DecodeF16(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

template <class T>
void Put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

template <class T>
T Take(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

uint16_t UpperHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace

void Encode(const Type& type, double value, std::byte* out) {
  if (type == kF64) return Put(out, value);
  if (type == kF32) return Put(out, static_cast<float>(value));
  if (type == kF16) return Put(out, EncodeF16(value));
  if (type == kBF16) return Put(out, UpperHalf(static_cast<float>(value)));
  if (type == kI8) return Put(out, static_cast<int8_t>(value));
  if (type == kI32) return Put(out, static_cast<int32_t>(value));
  Put(out, static_cast<int64_t>(value));
}

double Decode(const Type& type, const std::byte* in) {
  if (type == kF64) return Take<double>(in);
  if (type == kF32) return Take<float>(in);
  if (type == kF16) return DecodeF16(Take<uint16_t>(in));
  if (type == kI8) return Take<int8_t>(in);
  if (type == kI32) return Take<int32_t>(in);
  if (type == kI64) return static_cast<double>(Take<int64_t>(in));
  const uint32_t bits = static_cast<uint32_t>(Take<uint16_t>(in)) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<double> RandomValues(const Type& type, size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(count);
  for (double& value : values) {
    const int64_t raw = static_cast<int64_t>(engine());
    if (type.unit == 0) {
      value = static_cast<double>(static_cast<int8_t>(raw));
    } else if (type.bits == 16) {
      value = static_cast<double>(raw % 64) / 16;
    } else if (type.bits == 32) {
      value = static_cast<double>(static_cast<float>(raw) * 0x1p-62f);
    } else {
      value = static_cast<double>(raw) * 0x1p-62;
    }
  }
  return values;
}

int64_t Layout::Elements() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

std::vector<int64_t> Layout::Offsets() const {
  std::vector<int64_t> offsets(static_cast<size_t>(Elements()));
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) offsets[i] += rest % shape[axis] * strides[axis];
  }
  return offsets;
}

Layout Dense(std::string name, const Type& type, std::vector<int64_t> shape) {
  Layout layout{std::move(name), type, shape, std::vector<int64_t>(shape.size())};
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) layout.strides[axis] = stride;
  return layout;
}

Layout Strided(std::string name, const Type& type, std::vector<int64_t> shape) {
  Layout layout = Dense(std::move(name), type, shape);
  int64_t stride = 2;
  for (size_t axis = shape.size(); axis-- > 0;) {
    layout.strides[axis] = stride;
    stride = stride * shape[axis] + 3;
  }
  return layout;
}

}  // namespace plugin_test
