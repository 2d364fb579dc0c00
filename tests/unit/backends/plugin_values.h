// SPDX-License-Identifier: Apache-2.0
// Test values in the storage types, by routines that share nothing with the plugins: encoding takes only values
// that are exact in the type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace plugin_test {

struct Type {
  uint8_t code, bits;
  double unit;        // unit roundoff; 0 for integers
  double min_normal;  // 0 for integers
  const char* name;
  // A complex element is two numbers of the part's type.
  bool IsComplex() const { return code == 5; }
  int Parts() const { return IsComplex() ? 2 : 1; }
  Type Part() const { return IsComplex() ? Type{2, static_cast<uint8_t>(bits / 2), unit, min_normal, name} : *this; }
  friend bool operator==(const Type& a, const Type& b) { return a.code == b.code && a.bits == b.bits; }
};

inline constexpr Type kF64{2, 64, 0x1p-53, 0x1p-1022, "f64"};
inline constexpr Type kF32{2, 32, 0x1p-24, 0x1p-126, "f32"};
inline constexpr Type kF16{2, 16, 0x1p-11, 0x1p-14, "f16"};
inline constexpr Type kBF16{4, 16, 0x1p-8, 0x1p-126, "bf16"};
inline constexpr Type kI8{0, 8, 0, 0, "i8"};
inline constexpr Type kI32{0, 32, 0, 0, "i32"};
inline constexpr Type kI64{0, 64, 0, 0, "i64"};
inline constexpr Type kC64{5, 64, 0x1p-24, 0x1p-126, "c64"};
inline constexpr Type kC128{5, 128, 0x1p-53, 0x1p-1022, "c128"};

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void Encode(const Type& type, double value, std::byte* out);
double Decode(const Type& type, const std::byte* in);

// `count` values that are exact in `type`, of both signs: multiples of 1/16 below 4 for 16-bit types, random
// fractions for wider ones, any i8 for integers.
std::vector<double> RandomValues(const Type& type, size_t count, uint64_t seed);

// A tensor's place in memory: element strides, and how it is named.
struct Layout {
  std::string name;
  Type type;
  std::vector<int64_t> shape, strides;

  int64_t Elements() const;
  // Offsets in elements, in row-major order of the indices.
  std::vector<int64_t> Offsets() const;
};

Layout Dense(std::string name, const Type& type, std::vector<int64_t> shape);
// Every other element along the last axis, and rows further apart than they need to be.
Layout Strided(std::string name, const Type& type, std::vector<int64_t> shape);

}  // namespace plugin_test
