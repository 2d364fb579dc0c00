// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/localise.h"

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
            "24 of 64 elements, in 3 of 8 rows; first [0,0], last [5,7]");
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
