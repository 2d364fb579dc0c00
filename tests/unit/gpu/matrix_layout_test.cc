// SPDX-License-Identifier: Apache-2.0
// A row-major operand described by columns names the same elements.
#include "backends/cuda/matrix_layout.h"

#include <gtest/gtest.h>

namespace cuda_backend {
namespace {

plugin::Matrix Strided(int64_t row, int64_t column) {
  plugin::Matrix matrix;
  matrix.row_stride = row, matrix.column_stride = column;
  return matrix;
}

// Where a library of column-major matrices finds element (row, column) of the operand.
int64_t Offset(const ColumnMajor& layout, int64_t row, int64_t column) {
  return layout.transposed ? row + column * layout.leading : column + row * layout.leading;
}

TEST(AsColumnMajor, NamesTheSameElements) {
  constexpr int64_t kRows = 3, kColumns = 5;
  for (const plugin::Matrix& matrix : {Strided(5, 1), Strided(8, 1), Strided(1, 3), Strided(1, 9)}) {
    const auto layout = AsColumnMajor(matrix, kRows, kColumns);
    ASSERT_TRUE(layout.has_value());
    EXPECT_GE(layout->leading, layout->rows);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        EXPECT_EQ(Offset(*layout, r, c), r * matrix.row_stride + c * matrix.column_stride);
      }
    }
  }
}

TEST(AsColumnMajor, VectorsAndRefusals) {
  const auto row = AsColumnMajor(Strided(0, 1), 1, 7);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->leading, 7);
  const auto column = AsColumnMajor(Strided(4, 1), 7, 1);
  ASSERT_TRUE(column.has_value());
  EXPECT_EQ(Offset(*column, 6, 0), 24);
  EXPECT_FALSE(AsColumnMajor(Strided(10, 2), 3, 5).has_value());
  EXPECT_FALSE(AsColumnMajor(Strided(4, 1), 3, 5).has_value()) << "lines that overlap";
  EXPECT_FALSE(AsColumnMajor(Strided(-5, 1), 3, 5).has_value());
}

TEST(AlignmentOf, IsTheLargestPowerOfTwoUpTo256) {
  EXPECT_EQ(AlignmentOf(reinterpret_cast<const void*>(uintptr_t{0x1002})), 2u);
  EXPECT_EQ(AlignmentOf(reinterpret_cast<const void*>(uintptr_t{0x1010})), 16u);
  EXPECT_EQ(AlignmentOf(reinterpret_cast<const void*>(uintptr_t{0x4000})), 256u);
}

}  // namespace
}  // namespace cuda_backend
