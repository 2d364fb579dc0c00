// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/fill/rng.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/tensor.h"

namespace assay {
namespace {

using Words = std::array<uint32_t, 4>;

// Philox 4x32 of ten rounds as its authors define it, to compare with.
Words Philox(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(first)};
  }
  return c;
}

// Random123's kat_vectors, philox 4x32 10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, BitsArePhiloxOfBlockStreamAndSeed) {
  const RandomStream random(0x299f31d0a4093822, 0x0370734413198a2e);
  const uint64_t block = 0x85a308d3243f6a88 & 0x7fffffffffffffff;
  const Words c = Philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
  EXPECT_EQ(random.Bits(2 * block), c[0] | uint64_t{c[1]} << 32);
  EXPECT_EQ(random.Bits(2 * block + 1), c[2] | uint64_t{c[3]} << 32);
  const uint64_t half = block / 2;  // a block of words' number ends two bits lower than that of bits
  const Words w = Philox({static_cast<uint32_t>(half), static_cast<uint32_t>(half >> 32), 0x13198a2e, 0x03707344},
                         0xa4093822, 0x299f31d0);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(random.Word(4 * half + i), w[i]);
}

// Every alignment of the first index and every length around a batch's end, with every kind of vector.
void ExpectBulkEqualsSingle() {
  const RandomStream random(1, 2);
  for (uint64_t first :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{1023}, (uint64_t{1} << 33) - 3, (uint64_t{1} << 34) - 3}) {
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{511}, size_t{512}, size_t{1027}}) {
      std::vector<uint64_t> bits(count);
      std::vector<double> uniform(count), symmetric(count), normal(count);
      std::vector<float> float_symmetric(count), float_normal(count);
      random.FillBits(first, bits);
      random.FillUniform(first, uniform);
      random.FillSymmetric(first, symmetric);
      random.FillSymmetric(first, float_symmetric);
      random.FillNormal(first, normal);
      random.FillNormal(first, float_normal);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(bits[i], random.Bits(first + i)) << first << " " << i;
        ASSERT_EQ(uniform[i], random.Uniform(first + i)) << first << " " << i;
        ASSERT_EQ(symmetric[i], 2 * random.Uniform(first + i) - 1) << first << " " << i;
        ASSERT_EQ(normal[i], random.Normal(first + i)) << first << " " << i;
        ASSERT_EQ(float_symmetric[i], random.FloatSymmetric(first + i)) << first << " " << i;
        ASSERT_EQ(float_normal[i], random.FloatNormal(first + i)) << first << " " << i;
      }
    }
  }
}

TEST(RandomStream, BulkEqualsSingle) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    ExpectBulkEqualsSingle();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// So many that they are written past the caches where the first stands at a vector's place; what is before and after
// them stays as it was. Blocks carry into the upper half of their number on the way.
template <class T>
void ExpectManyEqualFew(int64_t shift) {
  constexpr size_t kCount = (size_t{12} << 20) / sizeof(T), kStep = 4096;
  constexpr T kOld = 7;
  Tensor tensor(std::is_same_v<T, float> ? DType::kF32 : DType::kF64, {static_cast<int64_t>(kCount) + 64});
  const std::span<T> all = tensor.As<T>();
  std::ranges::fill(all, kOld);
  const std::span<T> many = all.subspan(static_cast<size_t>(shift), kCount);
  const RandomStream random(3, 4);
  const uint64_t first = (uint64_t{1} << 32) * (16 / sizeof(T)) - 3 * (kCount / 4);
  random.FillSymmetric(first, many);
  std::vector<T> few(kStep);
  for (size_t i = 0; i < kCount; i += kStep) {
    random.FillSymmetric(first + i, few);
    ASSERT_TRUE(std::ranges::equal(few, many.subspan(i, kStep))) << i;
  }
  EXPECT_TRUE(std::ranges::all_of(all.first(static_cast<size_t>(shift)), [](T x) { return x == kOld; }));
  EXPECT_TRUE(std::ranges::all_of(all.subspan(static_cast<size_t>(shift) + kCount), [](T x) { return x == kOld; }));
}

TEST(RandomStream, ManyAreTheSameAsFew) {
  for (const int64_t shift : {0, 1, 2, 8}) {
    ExpectManyEqualFew<float>(shift);
    ExpectManyEqualFew<double>(shift);
  }
}

TEST(RandomStream, UniformIsBitsOver2To64) {
  const RandomStream random(3, 4);
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(random.Uniform(i), static_cast<double>(random.Bits(i) >> 11) * 0x1p-53);
    EXPECT_LT(random.Uniform(i), 1.0);
  }
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  const RandomStream random(5, 6);
  std::vector<int> count(7);
  for (uint64_t i = 0; i < 70000; ++i) ++count.at(random.Below(i, 7));
  for (int c : count) EXPECT_NEAR(c, 10000, 5 * std::sqrt(10000.0 * 6 / 7));
}

double UlpsOff(double got, long double want) {
  const double near = static_cast<double>(want);
  const double spacing = std::nextafter(std::fabs(near), INFINITY) - std::fabs(near);
  return static_cast<double>(std::fabs(got - want) / spacing);
}

TEST(PortableMath, ExpAndLogWithin1Point5Ulp) {
  const RandomStream random(10, 0);
  double worst_exp = 0, worst_log = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const double u = random.Uniform(i);
    const double wide = (u - 0.5) * 1416;  // e^-708 is normal
    const double narrow = (u - 0.5) * 2;
    const double near_one = 1 + (u - 0.5) * 1e-3;
    const double any = std::ldexp(1 + u, static_cast<int>(random.Below(i, 2045)) - 1022);
    for (double x : {wide, narrow})
      worst_exp = std::max(worst_exp, UlpsOff(internal::ExpKernel(x), std::exp(static_cast<long double>(x))));
    for (double x : {u + 0x1p-60, near_one, any})
      worst_log = std::max(worst_log, UlpsOff(internal::LogKernel(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst_exp, 1.5);
  EXPECT_LT(worst_log, 1.5);
  EXPECT_GT(worst_exp, 0.5);  // not correctly rounded: the measure is alive
}

TEST(PortableMath, Specials) {
  EXPECT_EQ(internal::ExpKernel(0.0), 1.0);
  EXPECT_EQ(internal::ExpKernel(-0.0), 1.0);
  EXPECT_EQ(internal::ExpKernel(INFINITY), INFINITY);
  EXPECT_EQ(internal::ExpKernel(-INFINITY), 0.0);
  EXPECT_EQ(internal::ExpKernel(709.79), INFINITY);
  EXPECT_EQ(internal::ExpKernel(-745.2), 0.0);
  EXPECT_EQ(internal::ExpKernel(-745.0), 0x1p-1074);
  EXPECT_TRUE(std::isnan(internal::ExpKernel(NAN)));
  EXPECT_EQ(internal::LogKernel(1.0), 0.0);
}

}  // namespace
}  // namespace assay
