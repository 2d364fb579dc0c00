// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/localise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace assay {
namespace {

std::string Localise(const Shape& shape, const std::vector<int64_t>& indices) {
  FailureMap map(shape);
  for (const int64_t index : indices) map.Add(index);
  return map.Text();
}

using Chosen = std::function<bool(int64_t row, int64_t column)>;

std::string Where(int64_t rows, int64_t columns, const Chosen& chosen) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < rows * columns; ++i) {
    if (chosen(i / columns, i % columns)) indices.push_back(i);
  }
  return Localise({rows, columns}, indices);
}

TEST(Localise, NamesRowsColumnsAndTiles) {
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t) { return false; }), "");
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t) { return true; }), "all 512 elements");
  EXPECT_EQ(Where(8, 64, [](int64_t r, int64_t c) { return r == 3 && c == 5; }), "1 of 512 elements, [3,5]");
  EXPECT_EQ(Where(8, 64, [](int64_t r, int64_t) { return r == 3; }),
            "64 of 512 elements, all in row 3; first [3,0], last [3,63]");
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t c) { return c == 63; }),
            "8 of 512 elements, last column only; first [0,63], last [7,63]");
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t c) { return c >= 61; }),
            "24 of 512 elements, last 3 columns; first [0,61], last [7,63]");
  EXPECT_EQ(Where(256, 2, [](int64_t r, int64_t) { return r >= 64 && r < 128; }),
            "128 of 512 elements, tile rows 64-127; first [64,0], last [127,1]");
  EXPECT_EQ(Where(256, 2, [](int64_t r, int64_t) { return r >= 65 && r < 129; }),
            "128 of 512 elements, rows 65-128; first [65,0], last [128,1]");
  EXPECT_EQ(Where(8, 64, [](int64_t r, int64_t c) { return r == 2 && c >= 32 && c < 40; }),
            "8 of 512 elements, all in row 2, tile columns 32-39; first [2,32], last [2,39]");
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t c) { return c % 4 == 1; }),
            "128 of 512 elements, columns 1 to 61 in steps of 4; first [0,1], last [7,61]");
  EXPECT_EQ(Where(4, 4, [](int64_t r, int64_t c) { return r == c; }),
            "4 of 16 elements, spread over the whole tensor; first [0,0], last [3,3]");
  EXPECT_EQ(Where(8, 8, [](int64_t r, int64_t) { return r == 0 || r == 1 || r == 5; }),
            "24 of 64 elements, rows 0-1 and 5; first [0,0], last [5,7]");
}

TEST(Localise, NamesPeriodsAndWhatIsNotWhole) {
  EXPECT_EQ(Where(8, 64, [](int64_t, int64_t c) { return c % 16 >= 4 && c % 16 < 8; }),
            "128 of 512 elements, columns 4-7 of every 16; first [0,4], last [7,55]");
  EXPECT_EQ(Where(4, 128, [](int64_t, int64_t c) { return c % 8 == 3 && c != 19; }),
            "60 of 512 elements, column 3 of every 8; first [0,3], last [3,123]");
  EXPECT_EQ(Where(9, 64, [](int64_t r, int64_t c) { return (r * 64 + c) % 7 == 5; }),
            "82 of 576 elements, element 5 of every 7 in row-major order; first [0,5], last [8,60]");
  EXPECT_THAT(Where(512, 512, [](int64_t r, int64_t c) { return (r * 512 + c) % 7 == 5; }),
              testing::ContainsRegex("element 5 of every 7 in row-major order \\(of [0-9]+ looked at\\)"));
  EXPECT_EQ(Where(4, 512, [](int64_t, int64_t c) { return c >= 40 && c < 72 && c % 5 != 1; }),
            "100 of 2048 elements, columns 40-70, not all of them; first [0,40], last [3,70]");
  EXPECT_EQ(Where(4, 512, [](int64_t, int64_t c) { return (c >= 40 && c < 45) || (c >= 60 && c < 65); }),
            "40 of 2048 elements, columns 40-44 and 60-64; first [0,40], last [3,64]");
  EXPECT_EQ(Where(8, 64, [](int64_t r, int64_t c) { return (c * 37 + r * 11) % 64 < 3; }).substr(0, 45),
            "24 of 512 elements, in 22 of 64 columns; firs");
  EXPECT_EQ(Where(64, 64, [](int64_t, int64_t c) { return c * 37 % 64 < 44; }).substr(0, 41),
            "2816 of 4096 elements, in 44 of 64 column");
}

TEST(Localise, NamesDiagonalsAndTriangles) {
  EXPECT_EQ(Where(64, 64, [](int64_t r, int64_t c) { return c >= r + 1; }),
            "2016 of 4096 elements, rows 0-62, last 63 columns, where column >= row +1; first [0,1], last [62,63]");
  EXPECT_EQ(Where(16, 16, [](int64_t r, int64_t c) { return c <= r && (r + c) % 2 == 0; }),
            "72 of 256 elements, where column <= row; first [0,0], last [15,15]");
  EXPECT_EQ(Where(64, 64, [](int64_t r, int64_t c) { return c == r + 2; }),
            "62 of 4096 elements, rows 0-61, last 62 columns, where column = row +2; first [0,2], last [61,63]");
  // A map keeps a sample of so many failures, but none of them lies outside of a triangle that it names.
  const auto is_above = [](int64_t r, int64_t c) { return c >= r || (r == 400 && c < 3); };
  EXPECT_THAT(Where(512, 512, is_above), testing::HasSubstr("where column >= row -400"));
  // A tile that lies beside the diagonal is no triangle.
  EXPECT_EQ(Where(64, 64, [](int64_t r, int64_t c) { return r < 8 && c >= 8 && c < 16; }),
            "64 of 4096 elements, tile rows 0-7, tile columns 8-15; first [0,8], last [7,15]");
}

TEST(Localise, OtherRanks) {
  EXPECT_EQ(Localise({}, {0}), "the only element");
  EXPECT_EQ(Localise({10}, {9}), "1 of 10 elements, [9]");
  EXPECT_EQ(Localise({10}, {7, 8, 9}), "3 of 10 elements, last 3 indices; first [7], last [9]");
  EXPECT_EQ(Localise({2, 1, 2}, {2, 3}), "2 of 4 elements, last axis-0 index only; first [1,0,0], last [1,0,1]");
}

TEST(Localise, ComplexPartsOfOneElementCountOnce) {
  EXPECT_EQ(Localise({10}, {4, 4}), "1 of 10 elements, [4]");
}

TEST(Localise, IndexText) {
  EXPECT_EQ(IndexText({2, 3, 4}, 23), "[1,2,3]");
  EXPECT_EQ(IndexText({2, 3, 4}, 4), "[0,1,0]");
  EXPECT_EQ(IndexText({}, 0), "[]");
}

}  // namespace
}  // namespace assay
