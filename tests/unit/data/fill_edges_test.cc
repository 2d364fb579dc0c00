// SPDX-License-Identifier: Apache-2.0
// The fills for what kernels do at the ends of lines, of ranges and of comparisons.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/data/fill/fill.h"

namespace assay {
namespace {

constexpr size_t kLines = 400, kLength = 37;  // tails of 16 begin at 32

std::vector<double> Lines(std::string_view fill, DType dtype) {
  Tensor tensor(dtype, {static_cast<int64_t>(kLines), static_cast<int64_t>(kLength)});
  FillTensor(ParseFill(fill).value(), 0, 0, -1, 0, tensor);
  return tensor.ToDoubles();
}

std::span<const double> LineOf(const std::vector<double>& values, size_t line) {
  return std::span(values).subspan(line * kLength, kLength);
}

TEST(FillEdges, PlantsEveryKindOfSpecialValueAtEachPlaceOfALine) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::vector<double> values = Lines("edges", dtype);
    const double largest = FormatOf(dtype).max_finite;
    std::set<size_t> nan, plus, minus, zero, minus_zero, most, least, all;
    size_t spoiled = 0;
    for (size_t line = 0; line < kLines; ++line) {
      size_t special = 0;
      for (size_t k = 0; k < kLength; ++k) {
        const double x = LineOf(values, line)[k];
        if (std::isnan(x)) nan.insert(k);
        if (x == HUGE_VAL) plus.insert(k);
        if (x == -HUGE_VAL) minus.insert(k);
        if (x == 0) (std::signbit(x) ? minus_zero : zero).insert(k);
        if (x == largest) most.insert(k);
        if (x == -largest) least.insert(k);
        if (!(std::abs(x) < largest)) all.insert(k), ++special;
      }
      EXPECT_LE(special, 1u);
      spoiled += special;
    }
    const std::set<size_t> places = {0, kLength / 2, 32, kLength - 1};
    EXPECT_EQ(all, places);
    for (const auto& found : {nan, plus, minus, zero, minus_zero, most, least}) EXPECT_EQ(found, places);
    EXPECT_EQ(spoiled, kLines / 2 / 10 * 5);  // five of ten kinds in every second line
  }
  EXPECT_TRUE(std::ranges::count(Lines("edges", DType::kI8), -128.0) > 0);
}

TEST(FillEdges, MaskedHasLinesOfNothingButMinusInfinity) {
  const std::vector<double> values = Lines("masked", DType::kF32);
  size_t empty = 0, masked = 0;
  for (size_t line = 0; line < kLines; ++line) {
    const auto count = static_cast<size_t>(std::ranges::count(LineOf(values, line), -HUGE_VAL));
    (count == kLength ? empty : masked) += count == kLength ? 1 : count;
  }
  EXPECT_EQ(empty, kLines / 4);
  EXPECT_NEAR(static_cast<double>(masked) / (kLines * 0.75 * kLength), 3.0 / 16, 0.02);
  EXPECT_EQ(std::ranges::count_if(values, [](double x) { return std::isnan(x) || x == HUGE_VAL; }), 0);
}

TEST(FillEdges, TiesHaveTwoMaximaAndTwoMinimaAtThePlacesOfALine) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
    const std::vector<double> values = Lines("ties", dtype);
    std::set<std::vector<size_t>> pairs;
    for (size_t line = 0; line < kLines; ++line) {
      std::vector<size_t> top;
      for (size_t k = 0; k < kLength; ++k) {
        if (LineOf(values, line)[k] == 4) top.push_back(k);
      }
      EXPECT_EQ(top.size(), 2u);
      EXPECT_EQ(*std::ranges::max_element(LineOf(values, line)), 4);
      EXPECT_EQ(*std::ranges::min_element(LineOf(values, line)), -4);
      pairs.insert(top);
    }
    EXPECT_EQ(pairs.size(), 6u);  // each two of the four places
  }
}

TEST(FillEdges, LargeIsPositiveAndInOneBinade) {
  for (const auto& [dtype, low] : {std::pair{DType::kF32, 512.0}, {DType::kF16, 512.0}, {DType::kI8, 63.0}}) {
    const std::vector<double> values = Lines("large", dtype);
    EXPECT_GE(*std::ranges::min_element(values), low);
    EXPECT_LE(*std::ranges::max_element(values), 2 * low + 1);
    EXPECT_GT(*std::ranges::max_element(values), 1.9 * low);
  }
}

TEST(FillEdges, ExtremesAreTheEndsOfIntegersAndBothZeros) {
  const std::vector<double> i8 = Lines("extremes", DType::kI8), f32 = Lines("extremes", DType::kF32);
  EXPECT_EQ(std::set<double>(i8.begin(), i8.end()), (std::set<double>{-128, -1, 0, 1, 127}));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(i8, -128.0)) / static_cast<double>(i8.size()), 0.25, 0.02);
  EXPECT_EQ(std::set<double>(f32.begin(), f32.end()), (std::set<double>{-1, 0, 1}));
  EXPECT_GT(std::ranges::count_if(f32, [](double x) { return x == 0 && std::signbit(x); }), 1000);
}

}  // namespace
}  // namespace assay
