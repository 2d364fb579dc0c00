// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/groups.h"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

// Chi square of m degrees of freedom over m stays below the square of the limit (without its slack) but for 1 in 10^6.
TEST(GroupLimit, CoversChiSquare) {
  constexpr int kTrials = 200000;
  const RandomStream random(7, 1);
  for (const int m : {1, 4, 64}) {
    const double limit = GroupLimit(m, 1e-6 * kTrials * 5, false) / kModelSlack;  // exceeded once in 5 * kTrials
    int beyond = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      double sum = 0;
      for (int k = 0; k < m; ++k) sum += std::pow(random.Normal(static_cast<uint64_t>(trial * m + k)), 2);
      beyond += std::sqrt(sum / m) > limit ? 1 : 0;
    }
    EXPECT_LE(beyond, 3) << m;
  }
  EXPECT_NEAR(GroupLimit(64, 4096, false) / kModelSlack, 1.69, 0.01);  // the worked value of the theory
  EXPECT_GT(GroupLimit(64, 4096, true), 9);
}

// All groups of a tensor whose only nonzero square is at `value`.
GroupFinding WorstOf(const Shape& shape, int parts, int64_t value, float square, int64_t piece) {
  const GroupLayout layout(shape, parts);
  GroupSums sums(layout, false);
  std::vector<float> squares(static_cast<size_t>(layout.values));
  squares[static_cast<size_t>(value)] = square;
  for (int64_t s = 0; s < layout.Stripes(); ++s) {
    const int64_t end = std::min(layout.values, (s + 1) * layout.stripe);
    for (int64_t at = s * layout.stripe; at < end; at += piece) {
      sums.stripe(s).Add(squares.data() + at, std::min(piece, end - at));
    }
  }
  return sums.Worst();
}

// Every element of every shape lands in exactly its row, column, tile, slab and tensor: the smallest group wins.
TEST(GroupSums, EveryElementReachesItsGroups) {
  for (const Shape& shape :
       {Shape{70, 100}, Shape{3, 40, 17}, Shape{2, 3, 20, 64}, Shape{300, 1000}, Shape{5000, 33}}) {
    const GroupLayout layout(shape, 1);
    for (int64_t value = 0; value < layout.values; value += layout.values / 97 + 1) {
      const GroupFinding found = WorstOf(shape, 1, value, 1e6F, 512);
      ASSERT_GT(found.margin, 1);
      ASSERT_NEAR(found.rms * found.rms * static_cast<double>(found.members), 1e6, 1);
      if (found.kind == GroupKind::kRow) {
        ASSERT_EQ(found.index, value / layout.columns);
      }
      if (found.kind == GroupKind::kColumn) {
        ASSERT_EQ(found.index, value % layout.columns);
      }
      if (found.kind == GroupKind::kTile) {
        ASSERT_EQ(found.index % layout.columns, value % layout.columns / 64 * 64);
        ASSERT_LE(found.index / layout.columns, value / layout.columns);
        ASSERT_LT(value / layout.columns - found.index / layout.columns, 64);
      }
    }
  }
}

TEST(GroupSums, TheSumsDoNotDependOnThePieces) {
  const Shape shape{333, 777};
  const GroupLayout layout(shape, 2);
  const RandomStream random(3, 1);
  std::vector<float> squares(static_cast<size_t>(layout.values));
  for (size_t i = 0; i < squares.size(); ++i) squares[i] = static_cast<float>(random.Uniform(i));
  GroupSums sums(layout, false);
  double whole = 0;
  for (int64_t s = 0; s < layout.Stripes(); ++s) {
    const int64_t begin = s * layout.stripe, end = std::min(layout.values, begin + layout.stripe);
    sums.stripe(s).Add(squares.data() + begin, end - begin);
    for (int64_t i = begin; i < end; ++i) whole += static_cast<double>(squares[static_cast<size_t>(i)]);
  }
  const GroupFinding found = sums.Worst();
  EXPECT_LT(found.margin, 1);
  EXPECT_NEAR(whole / static_cast<double>(layout.values), 0.5, 0.01);
  EXPECT_GT(found.rms, 0.6);  // sqrt(1/2), of the tensor or a little more of a small group
  EXPECT_LT(found.rms, 0.9);
}

// The margin of a column whose deviations are all `r` where those of the others are 1.
double MarginOfColumn(int64_t rows, float r) {
  const Shape shape{rows, 120};
  const GroupLayout layout(shape, 1);
  GroupSums sums(layout, /*shared=*/true, /*independent_rows=*/true);
  std::vector<float> squares(static_cast<size_t>(layout.values), 1.0F);
  for (int64_t i = 0; i < rows; ++i) squares[static_cast<size_t>(i * 120 + 7)] = r * r;
  for (int64_t s = 0; s < layout.Stripes(); ++s) {
    const int64_t begin = s * layout.stripe, end = std::min(layout.values, begin + layout.stripe);
    sums.stripe(s).Add(squares.data() + begin, end - begin);
  }
  const GroupFinding found = sums.Worst();
  EXPECT_TRUE(found.kind == GroupKind::kColumn || found.margin < 1);
  return found.margin;
}

// The error of one frequency's twiddles is the same in every row, however many there are.
TEST(GroupSums, ManyRowsDoNotNarrowTheLimitOfWhatTheyShare) {
  EXPECT_LT(MarginOfColumn(4096, 2), 1);
  EXPECT_GT(MarginOfColumn(4096, 4), 1);
  EXPECT_NEAR(MarginOfColumn(16, 4), MarginOfColumn(4096, 4), 1e-6);
}

TEST(GroupText, NamesThePlace) {
  const Shape shape{4, 5, 32};
  EXPECT_EQ(GroupText(shape, 1, {.kind = GroupKind::kRow, .index = 7}), "the row at [1,2,0]");
  EXPECT_EQ(GroupText(shape, 1, {.kind = GroupKind::kColumn, .index = 7}), "column 7");
  EXPECT_EQ(GroupText(shape, 1, {.kind = GroupKind::kSlab, .index = 3}), "the slab at [3,0,0]");
  EXPECT_EQ(GroupText(shape, 1, {}), "the whole tensor");
}

TEST(GroupLayout, OfEmptyAndTinyTensors) {
  EXPECT_EQ(GroupLayout({}, 1).Stripes(), 1);
  EXPECT_EQ(GroupLayout({0, 5}, 1).Stripes(), 0);
  EXPECT_FALSE(GroupLayout({3, 5}, 1).by_row);
}

}  // namespace
}  // namespace assay
