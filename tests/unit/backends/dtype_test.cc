// SPDX-License-Identifier: Apache-2.0
#include "backends/common/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plugin {
namespace {

// Every finite value, and the halfway points around it: nearest, ties to even. Walks the codes upwards, so that the
// neighbour of code c is c + 1.
template <class Storage>
void CheckRounding(uint16_t infinity) {
  for (uint16_t code = 0; code + 1 < infinity; ++code) {
    const double low = ToFloat(Storage{code}), high = ToFloat(Storage{static_cast<uint16_t>(code + 1)});
    ASSERT_LT(low, high) << code;
    const double middle = (low + high) / 2;
    const uint16_t even = (code & 1) == 0 ? code : code + 1;
    ASSERT_EQ(Convert<Storage>(low).bits, code);
    ASSERT_EQ(Convert<Storage>(middle).bits, even);
    ASSERT_EQ(Convert<Storage>(std::nextafter(middle, 0.0)).bits, middle == 0 ? even : code);
    ASSERT_EQ(Convert<Storage>(std::nextafter(middle, 1e300)).bits, code + 1);
    ASSERT_EQ(Convert<Storage>(-middle).bits, even | 0x8000);
    const float single = static_cast<float>(middle);
    if (static_cast<double>(single) == middle) {
      ASSERT_EQ(Convert<Storage>(single).bits, even);
    }
  }
}

TEST(DType, RoundsF16ToNearestEven) {
  CheckRounding<F16>(0x7C00);
}
TEST(DType, RoundsBF16ToNearestEven) {
  CheckRounding<BF16>(0x7F80);
}

TEST(DType, OverflowsToInfinityHalfAStepAboveTheLargest) {
  EXPECT_EQ(Convert<F16>(65519.996).bits, 0x7BFF);
  EXPECT_EQ(Convert<F16>(65520.0).bits, 0x7C00);
  EXPECT_EQ(Convert<F16>(-1e300).bits, 0xFC00);
  EXPECT_EQ(Convert<BF16>(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(Convert<BF16>(1e300).bits, 0x7F80);
}

TEST(DType, KeepsNaNAndInfinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(ToFloat(Convert<F16>(nan))));
  EXPECT_TRUE(std::isnan(ToFloat(Convert<BF16>(nan))));
  EXPECT_TRUE(std::isnan(ToFloat(Convert<BF16>(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_EQ(ToFloat(Convert<F16>(-inf)), -inf);
  EXPECT_EQ(ToFloat(Convert<BF16>(static_cast<float>(inf))), inf);
  EXPECT_TRUE(std::signbit(ToFloat(Convert<F16>(-0.0))));
}

TEST(DType, HasNames) {
  EXPECT_EQ(Name(kBF16), "bf16");
  EXPECT_EQ(Name(kI8), "i8");
  EXPECT_EQ(Name({ASSAY_TYPE_COMPLEX, 64}), "c64");
  EXPECT_EQ(Name({77, 3}), "type code 77 with 3 bits");
}

}  // namespace
}  // namespace plugin
