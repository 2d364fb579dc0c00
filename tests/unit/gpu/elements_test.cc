// SPDX-License-Identifier: Apache-2.0
// Elements as kernels load, round and store them.
#include "backends/gpu/device/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/common/float8.h"

namespace gpu {
namespace {

TEST(FloatToBFloat, RoundsToNearestEvenAsTheHostDoes) {
  const float largest = 0x1.FEp127f, infinity = std::numeric_limits<float>::infinity();
  for (const float x : {0.0f, -0.0f, 1.0f, 0x1.01p0f, 0x1.03p0f, 0x1.0100001p0f, -0x1.00FFFFp0f, 0x1p-133f, 0x1.8p-134f,
                        0x1p-149f, largest, 0x1.FEFFFEp127f, 0x1.FFp127f, -infinity, infinity}) {
    EXPECT_EQ(FloatToBFloat(x), plugin::Convert<plugin::BF16>(x).bits) << x;
  }
  EXPECT_EQ(FloatToBFloat(0x1.01p0f), 0x3F80) << "a tie goes to even";
  EXPECT_EQ(FloatToBFloat(0x1.03p0f), 0x3F82) << "a tie goes to even";
  EXPECT_EQ(FloatToBFloat(0x1.FFp127f), 0x7F80) << "rounds to infinity";
  // A NaN whose payload lies in the lost bits alone must not become an infinity.
  const auto nan = BitCast<float>(uint32_t{0xFF800001});
  EXPECT_EQ(FloatToBFloat(nan), 0xFFC0);
}

// Every number that a binade of the formats has ties and neighbours in, beyond both ends of their ranges.
TEST(FloatTo8Bits, RoundsAsTheHostDoesAndLoadsEveryCode) {
  for (int exponent = -20; exponent <= 17; ++exponent) {
    for (int step = 0; step <= 64; ++step) {
      for (const float away : {0.0f, 0x1p-20f, -0x1p-20f}) {
        const float x = std::ldexp(1 + static_cast<float>(step) / 64 + away, exponent) * (step % 2 == 0 ? 1.0f : -1.0f);
        EXPECT_EQ(FloatTo8Bits<3>(x), plugin::E4M3::Of(x).bits) << x;
        EXPECT_EQ(FloatTo8Bits<2>(x), plugin::E5M2::Of(x).bits) << x;
      }
    }
  }
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const double e4m3 = plugin::E4M3{byte}.Value(), e5m2 = plugin::E5M2{byte}.Value();
    if (std::isnan(e4m3)) {
      EXPECT_TRUE(std::isnan(E4M3ToFloat(byte)));
    } else {
      EXPECT_EQ(E4M3ToFloat(byte), e4m3) << code;
    }
    if (std::isnan(e5m2)) {
      EXPECT_TRUE(std::isnan(E5M2ToFloat(byte)));
    } else {
      EXPECT_EQ(E5M2ToFloat(byte), e5m2) << code;
    }
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FloatTo8Bits<3>(infinity), 0x7F);
  EXPECT_EQ(FloatTo8Bits<2>(-infinity), 0xFC);
  EXPECT_EQ(FloatTo8Bits<3>(-0.0f), 0x80);
}

template <class T>
void ExpectStored(Tag tag, T (*expected)(float)) {
  for (const float x : {0.0f, 1.5f, -2.0f, 100.0f, -7.0f}) {
    T stored[3]{};
    Store(stored, tag, 1, x);
    EXPECT_EQ(Load<float>(stored, tag, 1), static_cast<float>(expected(x))) << static_cast<int>(tag) << " " << x;
    EXPECT_EQ(Load<float>(stored, tag, 0), 0.0f) << "a neighbour was written";
    EXPECT_EQ(Load<float>(stored, tag, 2), 0.0f) << "a neighbour was written";
  }
}

TEST(Store, WritesOneElementOfItsType) {
  ExpectStored<double>(Tag::kF64, [](float x) { return double{x}; });
  ExpectStored<float>(Tag::kF32, [](float x) { return x; });
  ExpectStored<int8_t>(Tag::kI8, [](float x) { return static_cast<int8_t>(x); });
  ExpectStored<int32_t>(Tag::kI32, [](float x) { return static_cast<int32_t>(x); });
  ExpectStored<int64_t>(Tag::kI64, [](float x) { return static_cast<int64_t>(x); });
}

TEST(Rounded, IsWhatALoadGivesAfterAStore) {
  for (const Tag tag : {Tag::kF64, Tag::kF32, Tag::kF16, Tag::kBF16}) {
    for (const float x : {0.1f, 1e-6f, 65519.0f, 65520.0f, 3.0001f, 0x1p-25f}) {
      double stored = 0;
      Store(&stored, tag, 0, x);
      EXPECT_EQ(Load<float>(&stored, tag, 0), Rounded(tag, x)) << static_cast<int>(tag) << " " << x;
    }
  }
  EXPECT_EQ(Rounded(Tag::kF16, 65520.0f), std::numeric_limits<float>::infinity());
  EXPECT_NE(Rounded(Tag::kF16, 0.1f), 0.1f);
}

TEST(LoadPack, GivesWhatThereIsAndThenZeros) {
  alignas(16) float data[16];
  for (int i = 0; i < 16; ++i) data[i] = static_cast<float>(i + 1);
  for (const int64_t step : {1, 2}) {
    for (const int64_t offset : {0, 1, 4}) {
      for (int64_t count = -1; count <= 6; ++count) {
        const Pack<float, 4> pack = LoadPack<float, 4>(data, offset, step, count);
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(pack.at[i], i < count ? data[offset + i * step] : 0.0f) << step << " " << offset << " " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpu
