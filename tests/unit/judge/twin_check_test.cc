// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/twin_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/special_values.h"

namespace assay {
namespace {

Tensor Output(std::vector<double> values, DType dtype = DType::kF32) {
  Tensor t(dtype, {static_cast<int64_t>(values.size()) / (IsComplex(dtype) ? 2 : 1)});
  t.SetDoubles(values);
  return t;
}

Twin MakeTwin(std::vector<double> expected, double tolerance_ulp = 0) {
  Twin twin;
  twin.expected = std::move(expected);
  twin.tolerance_ulp = tolerance_ulp;
  twin.code = "missing k = |diff| - 1";
  return twin;
}

TEST(TwinCheck, EqualHolds) {
  const TwinResult result = CheckTwin(MakeTwin({1, -0.0, kNaN, kInf}), 0, Output({1, 0, kNaN, kInf}));
  EXPECT_TRUE(result.Holds());
  EXPECT_EQ(result.Margin(), 0);
  EXPECT_EQ(result.elements, 4);
}

TEST(TwinCheck, KeepsTheFirstWrongElements) {
  std::vector<double> expected(20, 4), got(20, 4);
  for (size_t i = 5; i < 17; ++i) got[i] = static_cast<double>(i);
  const TwinResult result = CheckTwin(MakeTwin(expected, 2), 0, Output(got));
  ASSERT_EQ(result.examples.size(), kWorstCount);
  const WorstElement& first = result.examples[0];
  EXPECT_EQ(first.index, 5);
  EXPECT_EQ(first.got, 5);
  EXPECT_EQ(first.golden, 4);
  EXPECT_EQ(first.error, 1);
  EXPECT_EQ(first.tolerance, 2 * 0x1p-21);  // in the output's unit
  EXPECT_EQ(result.examples.back().index, 12);
  const TwinResult complex = CheckTwin(MakeTwin({1, 2, 3, 4}), 0, Output({1, 2, 3, 5}, DType::kC64));
  ASSERT_EQ(complex.examples.size(), 1u);
  EXPECT_EQ(complex.examples[0].index, 1);
  EXPECT_EQ(complex.examples[0].component, 1);
}

// 2^24 + 1 and its neighbours, as an accumulator in f32 leaves them.
TEST(TwinCheck, SumsThatANarrowAccumulatorLeavesAreTold) {
  const double odd = 0x1p24 + 1;
  const auto bits = [&](std::vector<double> expected, std::vector<double> got, DType dtype = DType::kI32) {
    return CheckTwin(MakeTwin(std::move(expected)), 0, Output(std::move(got), dtype)).sum_bits;
  };
  EXPECT_EQ(bits({odd, 5, -odd - 2}, {0x1p24, 5, -0x1p24 - 4}), 24);
  EXPECT_EQ(bits({odd, 5}, {0x1p24, 5}, DType::kF64), 24);
  EXPECT_EQ(bits({2049, 7}, {2048, 7}, DType::kF32), 11);
  EXPECT_EQ(bits({odd, 5}, {0x1p24, 4}), 0);         // a small sum is wrong too
  EXPECT_EQ(bits({odd, odd}, {0x1p24, odd}), 0);     // one of them is exact
  EXPECT_EQ(bits({odd, 5}, {0x1p24 - 2000, 5}), 0);  // it lacks more than roundings take
  EXPECT_EQ(bits({odd, 5}, {odd, 5}), 0);
}

TEST(TwinCheck, OneUlpIsWrongAndDecodable) {
  const TwinResult result = CheckTwin(MakeTwin({4, 12, 7, 8}), 1, Output({4, 9, 7, 2}));
  EXPECT_FALSE(result.Holds());
  EXPECT_EQ(result.wrong, 2);
  EXPECT_EQ(result.first, 1);
  EXPECT_EQ(result.Margin(), kInf);
  EXPECT_EQ(result.Reason({4}),
            "exact twin 1: 2 wrong, first element [1] got 9, expected 12, difference -3; 2 of 4 elements, "
            "indices 1 and 3; first [1], last [3]; missing k = |diff| - 1");
  EXPECT_FALSE(CheckTwin(MakeTwin({1}), 0, Output({1 + 0x1p-23})).Holds());
}

// Terms 1, 2, 4, 8 and a second 8 in every output, and others of 0.
Twin CodedTwin(std::vector<double> expected, int64_t terms = 6) {
  Twin twin;
  twin.expected = std::move(expected);
  twin.terms = terms;
  twin.terms_of = [](int64_t, double part) {
    if (part == 8) return std::vector<int64_t>{3, 4};
    return part == 1 || part == 2 || part == 4 ? std::vector<int64_t>{std::ilogb(part)} : std::vector<int64_t>{};
  };
  return twin;
}

TEST(TwinCheck, NamesTheTermsThatAllWrongElementsAgreeOn) {
  const auto code = [](std::vector<double> got) {
    return CheckTwin(CodedTwin({23, 23, 23}), 0, Output(std::move(got))).code;
  };
  EXPECT_EQ(code({23, 21, 23}), "looks like term k=1 missing");
  EXPECT_EQ(code({23, 15, 23}), "looks like term k=3 or 4 missing");
  EXPECT_EQ(code({27, 27, 27}), "looks like term k=2 added twice");
  EXPECT_EQ(code({21, 22, 23}), "") << "different terms";
  EXPECT_EQ(code({20, 23, 23}), "") << "no term";
  EXPECT_EQ(code({21, kNaN, 23}), "");
  EXPECT_EQ(code({23, 23, 23}), "");
}

// Terms at the ends of a loop are named first: loops go wrong there.
TEST(TwinCheck, NamesTheFirstAndTheLastTermBeforeOthers) {
  EXPECT_EQ(CheckTwin(CodedTwin({23}, 5), 0, Output({15})).code, "looks like term k=4 or 3 missing");
  EXPECT_EQ(CheckTwin(CodedTwin({23}, 5), 0, Output({31})).code, "looks like term k=4 or 3 added twice");
  // Terms as ExactCode makes them: of either sign, mirrored. Every third pair has the same magnitude.
  Twin twin = CodedTwin({100}, 20);
  twin.terms_of = [](int64_t, double part) {
    std::vector<int64_t> terms;
    for (int64_t k = 0; k < 20; ++k) {
      const auto magnitude = static_cast<double>(3 + (k < 10 ? k : 19 - k) % 3);
      if ((k < 10 ? magnitude : -magnitude) == part) terms.push_back(k);
    }
    return terms;
  };
  EXPECT_EQ(CheckTwin(twin, 0, Output({103})).code,
            "looks like term k=19 missing, or k=0 added twice, or k=10 or 13 or 16 missing");
  EXPECT_EQ(CheckTwin(twin, 0, Output({97})).code,
            "looks like term k=0 missing, or k=19 added twice, or k=3 or 6 or 9 missing");
  EXPECT_EQ(CheckTwin(twin, 0, Output({104})).code, "looks like term k=12 or 15 or 18 missing");
}

TEST(TwinCheck, SaysNothingOfOutputsThatAreWrongAllOver) {
  EXPECT_EQ(CheckTwin(MakeTwin({4, 12}), 0, Output({5, 9})).code, "");
  EXPECT_EQ(CheckTwin(MakeTwin({4, 12}), 0, Output({4, kInf})).code, "");
}

TEST(TwinCheck, ToleranceCountsUlpOfTheOutput) {
  EXPECT_TRUE(CheckTwin(MakeTwin({1}, 2), 0, Output({1 + 0x1p-22})).Holds());
  EXPECT_EQ(CheckTwin(MakeTwin({1}, 2), 0, Output({1 + 0x1p-22})).Margin(), 1);
  EXPECT_FALSE(CheckTwin(MakeTwin({1}, 2), 0, Output({1 + 0x1.8p-22})).Holds());
  EXPECT_TRUE(CheckTwin(MakeTwin({1}, 1), 0, Output({1 + 0x1p-10}, DType::kF16)).Holds());
}

TEST(TwinCheck, ToleranceIsNoExcuseForNonFinite) {
  for (const double bad : {kNaN, kInf, -kInf}) {
    const TwinResult result = CheckTwin(MakeTwin({1}, 1e30), 0, Output({bad}));
    EXPECT_FALSE(result.Holds()) << bad;
    EXPECT_EQ(result.Margin(), kInf);
  }
  EXPECT_THAT(CheckTwin(MakeTwin({1}), 0, Output({-kNaN})).Reason({1}),
              testing::HasSubstr("got nan, expected 1, difference nan"));
  EXPECT_FALSE(CheckTwin(MakeTwin({kNaN}, 4), 0, Output({0})).Holds());
  EXPECT_FALSE(CheckTwin(MakeTwin({kInf}, 4), 0, Output({-kInf})).Holds());
}

// No error alone is wrong; all of them together are larger than roundings leave them.
TEST(TwinCheck, TheRootMeanSquareOfAllErrorsMayBeLimited) {
  Twin twin = MakeTwin({1, 1, 1, 1}, 4);
  twin.rms = 0.5;
  twin.code = "what it is";
  const double ulp = 0x1p-23;
  EXPECT_TRUE(CheckTwin(twin, 0, Output({1 + 3 * ulp, 1, 1, 1 + 2 * ulp})).Holds());
  const TwinResult spread = CheckTwin(twin, 0, Output({1 + 3 * ulp, 1 + 2 * ulp, 1 + 3 * ulp, 1 + 2 * ulp}));
  EXPECT_FALSE(spread.Holds());
  EXPECT_EQ(spread.wrong, 0);
  EXPECT_NEAR(spread.Margin(), 0.637 / 0.5, 1e-3);
  EXPECT_EQ(
      spread.Reason({4}),
      "exact twin 0: errors of 0.637 of their bounds in the root mean square over all outputs, permitted 0.5; what it "
      "is");
  twin.rms = 0;
  EXPECT_TRUE(CheckTwin(twin, 0, Output({1 + 3 * ulp, 1 + 2 * ulp, 1 + 3 * ulp, 1 + 2 * ulp})).Holds());
}

TEST(TwinCheck, IntegersAndComplex) {
  EXPECT_FALSE(CheckTwin(MakeTwin({5, 6}), 0, Output({5, 7}, DType::kI32)).Holds());
  const TwinResult result = CheckTwin(MakeTwin({1, 2, 3, 4}), 0, Output({1, 2, 5, 6}, DType::kC64));
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.first, 1);
}

}  // namespace
}  // namespace assay
