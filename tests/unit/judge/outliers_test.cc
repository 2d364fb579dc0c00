// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/outliers.h"

#include <gmock/gmock.h>

#include "tests/unit/judge/judged_case.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 1200, kColumns = 1000;
static_assert(kRows * kColumns > kMostScanned);

// r = 6 in the first `wrong` elements, but r = 9 in `extreme` of them.
struct WrongTensor {
  WrongTensor(int64_t wrong, int64_t extreme) : c({.shape = {kRows, kColumns}, .noise = 0}) {
    c.bound.terms[0].coefficient = 0x1p-17;
    const FloatFormat& format = FormatOf(DType::kF32);
    const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
    std::vector<double> got;
    for (int64_t i = 0; i < c.values(); ++i) {
      const double y = c.golden.value[static_cast<size_t>(i)];
      const double r = i >= wrong ? 0 : i < wrong - extreme ? 6 : 9;
      got.push_back(RoundTo(format, r == 0 ? y : y + UlpAt(format, y) / 2 + r * judge.Sigma(i)));
    }
    c.got.SetDoubles(got);
  }

  Outliers Find() const {
    const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
    TileReader reader(judge, c.got);
    std::vector<ChunkTotals> chunks;
    for (int64_t at = 0; at < c.values(); at += kJudgeChunk) {
      chunks.push_back(JudgeChunk(judge, reader, at, std::min(at + kJudgeChunk, c.values())));
    }
    return FindOutliers(judge, c.got, chunks);
  }

  JudgedCase c;
};

TEST(FindOutliers, KeepsThePlacesOfAsManyAsAreScanned) {
  const Outliers found = WrongTensor(kMostScanned, 3).Find();
  EXPECT_EQ(found.count, kMostScanned);
  ASSERT_EQ(std::ssize(found.values), kMostScanned);
  for (int64_t i = 0; i < kMostScanned; ++i) ASSERT_EQ(found.values[static_cast<size_t>(i)], i);
  EXPECT_EQ(found.extremes.count(), 3);
  EXPECT_GE(found.worst, kMostScanned - 3);
  EXPECT_NEAR(found.worst_r, 9, 1);
}

TEST(FindOutliers, OfMoreKeepsTheirNumberAndTheWorst) {
  const WrongTensor wrong(kRows * kColumns, 2 * kColumns);
  const Outliers found = wrong.Find();
  EXPECT_EQ(found.count, kRows * kColumns);
  EXPECT_EQ(found.values.capacity(), 0u);
  EXPECT_EQ(found.extremes.count(), 2 * kColumns);
  const ErrorMetrics m = wrong.c.Judge();
  EXPECT_EQ(m.statistic.outliers, kRows * kColumns);
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_EQ(m.statistic.cluster.count, kRows * kColumns);
  EXPECT_EQ(m.statistic.cluster.where, "the whole tensor");
  EXPECT_THAT(m.statistic.reason, HasSubstr("2000 beyond 8 standard deviations"));
  EXPECT_THAT(m.statistic.reason, HasSubstr("last 2 rows"));
  EXPECT_THAT(m.statistic.reason,
              HasSubstr("1200000 of 1200000 values beyond 5 standard deviations lie in the whole tensor"));
}

}  // namespace
}  // namespace assay
