// SPDX-License-Identifier: Apache-2.0
// TOSA's data sets against their definition: the integer sequence by repeated steps in 64-bit arithmetic, and values
// worked out by hand from it.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/core/data/fill/fill.h"
#include "harness/core/data/fill/fill_internal.h"

namespace assay {
namespace {

using internal::TosaSequence;

// r_{n+1} = r_n m + 1 mod 2^32, from r_0 = 1.
std::vector<uint32_t> States(uint64_t set, size_t count) {
  const uint64_t m = (8 * set + 1) * 0x705A5E75 % 0x100000000;
  std::vector<uint32_t> states;
  for (uint64_t r = (m + 1) % 0x100000000; states.size() < count; r = (r * m + 1) % 0x100000000) {
    states.push_back(static_cast<uint32_t>(r));
  }
  return states;
}

double Signed(uint32_t r) {
  const double size = static_cast<double>(static_cast<float>(r & 0x7FFFFFFF)) / 0x1p31;
  return r >> 31 ? -size : size;
}

std::vector<double> FilledWithTosa(const char* fill, Shape shape, int axis, int role, double terms = 0,
                                   uint64_t seed = 0) {
  FillSpec spec = ParseFill(fill).value();
  spec.terms = terms;
  Tensor tensor(DType::kF64, std::move(shape));
  FillTensor(spec, seed, static_cast<uint64_t>(role), axis, role, tensor);
  return tensor.ToDoubles();
}

// With m = 0x705A5E75: r_1 = m + 1, r_2 = m (m + 1) + 1.
TEST(FillTosa, SequenceBeginsAsDefined) {
  TosaSequence sequence(0, 0);
  EXPECT_EQ(sequence.state(), 0x705A5E76u);
  EXPECT_EQ(sequence.Next(), static_cast<double>(0x705A5E80) / 0x1p31);  // 24 bits of 0x705A5E76: to a multiple of 128
  EXPECT_EQ(sequence.state(), static_cast<uint32_t>(uint64_t{0x705A5E75} * 0x705A5E76 + 1));
}

TEST(FillTosa, SequenceStartsAnywhere) {
  for (const uint32_t set : {0u, 1u, 9u, 16u}) {
    const std::vector<uint32_t> expected = States(set, 300);
    for (const size_t first : {0, 1, 2, 63, 64, 255, 299}) {
      EXPECT_EQ(TosaSequence(set, first).state(), expected[first]) << set << " " << first;
    }
    EXPECT_EQ(TosaSequence(set, uint64_t{1} << 32).state(), expected[0]) << "the period is 2^32";
  }
}

TEST(FillTosa, SetsOneTwoThreeFiveFollowTheirFormulas) {
  const int64_t length = 100;
  const double b = 0x1p64 - 0x1p40, ks = 100;
  for (const int role : {0, 1}) {
    const auto draws = [&](uint32_t set) { return States(3 * set + static_cast<uint32_t>(role), 2 * length); };
    const auto s1 = draws(1), s2 = draws(2), s3 = draws(3), s5 = draws(5);
    const auto one = FilledWithTosa("tosa-1", {length}, 0, role), two = FilledWithTosa("tosa-2", {length}, 0, role);
    const auto three = FilledWithTosa("tosa-3", {length}, 0, role), five = FilledWithTosa("tosa-5", {length}, 0, role);
    for (size_t k = 0; k < length; ++k) {
      const double sign = Signed(s1[2 * k]) < 0 ? -0.75 : 0.75;
      EXPECT_DOUBLE_EQ(one[k], b / std::sqrt(ks + 1) * (sign + 0.25 * Signed(s1[2 * k + 1])));
      EXPECT_DOUBLE_EQ(two[k], k == 0 ? 1 : Signed(s2[k]) / std::sqrt(ks));
      const double small = std::exp(2 * Signed(s3[2 * k])) * Signed(s3[2 * k + 1]);
      const double large = Signed(s3[0]) < 0 ? -16 : 16;
      EXPECT_NEAR(three[k], k == 0 ? large : small, 1e-14);
      EXPECT_DOUBLE_EQ(five[k], b / std::sqrt(ks + 1) * Signed(s5[k]));
    }
  }
}

// Element by element one factor is zero and the other is not; in set 4 the middle products are -1/4.
TEST(FillTosa, SetsZeroAndFourPairZeros) {
  const auto a0 = FilledWithTosa("tosa-0", {8, 64}, 1, 0), b0 = FilledWithTosa("tosa-0", {8, 64}, 1, 1);
  const auto a4 = FilledWithTosa("tosa-4", {8, 64}, 1, 0), b4 = FilledWithTosa("tosa-4", {8, 64}, 1, 1);
  int zeros = 0;
  for (size_t i = 0; i < a0.size(); ++i) {
    EXPECT_EQ(a0[i] * b0[i], 0) << i;
    EXPECT_NE(a0[i] + b0[i], 0) << i;
    zeros += a0[i] == 0;
    EXPECT_EQ(a4[i] * b4[i], i % 64 == 32 ? -0.25 : 0) << i;
  }
  EXPECT_NEAR(zeros, 256, 64);
}

TEST(FillTosa, TermsSetTheScaleAndWhatIsAddedIsZero) {
  const auto short_sum = FilledWithTosa("tosa-5", {10}, 0, 0), long_sum = FilledWithTosa("tosa-5", {10}, 0, 0, 99);
  EXPECT_DOUBLE_EQ(long_sum[3] / short_sum[3], std::sqrt(11.0 / 100));
  for (const char* fill : {"tosa-0", "tosa-2", "tosa-3", "tosa-4", "tosa-5"}) {
    for (const double x : FilledWithTosa(fill, {10}, 0, 2)) EXPECT_EQ(x, 0) << fill;
  }
  EXPECT_GT(std::fabs(FilledWithTosa("tosa-1", {10}, 0, 2)[0]), 0x1p120);
}

TEST(FillTosa, SeedsDiffer) {
  EXPECT_NE(FilledWithTosa("tosa-3", {64}, 0, 0, 0, 0), FilledWithTosa("tosa-3", {64}, 0, 0, 0, 1));
  EXPECT_EQ(FilledWithTosa("tosa-3", {64}, 0, 0, 0, 7), FilledWithTosa("tosa-3", {64}, 0, 0, 0, 7));
}

TEST(FillTosa, NamesComeBack) {
  for (const char* name : {"tosa-0", "tosa-3", "tosa-5"}) EXPECT_EQ(FillText(ParseFill(name).value()), name);
}

TEST(FillTosa, OnlySixSets) {
  for (const char* name : {"tosa-6", "tosa-", "tosa", "tosa-00"}) {
    const auto fill = ParseFill(name);
    ASSERT_FALSE(fill) << name;
    EXPECT_NE(fill.error().message.find("tosa-5"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay
