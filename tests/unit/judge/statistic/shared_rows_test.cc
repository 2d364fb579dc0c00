// SPDX-License-Identifier: Apache-2.0
// Rows that share an error, against the least allowance of each pair of elements.
#include "harness/judge/statistic/shared_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/core/data/dtype.h"
#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

struct SharedCase {
  DType type;
  int64_t rows, terms, inner;
  bool additive;
};

class RowsCase {
 public:
  explicit RowsCase(const SharedCase& shape)
      : shape_(shape), allowance_(shape.rows * shape.terms, false), got_(shape.type, {shape.rows * shape.terms}) {
    const int64_t size = allowance_.size();
    golden_.shape = {size};
    golden_.error = Plane(size, false);
    const RandomStream random(size, 1), errors(size, 2);
    std::vector<double> got;
    for (int64_t i = 0; i < size; ++i) {
      const double y = (shape.additive ? -20 : 1) * std::fabs(random.Normal(i)) / 8;
      golden_.value.push_back(i % 13 == 4 ? 0 : y);
      golden_.error.Set(i, 1e-9 * std::fabs(y));
      allowance_.Set(i, 0x1p-22 * std::fabs(y) + 1e-9);
      const double common = 1e-6 * static_cast<double>(RowOf(i) + 1), own = 0x1p-21 * errors.Normal(i);
      got.push_back(i == 5 ? kNaN : shape.additive ? y + common + own : y * (1 + common + own));
    }
    got_.SetDoubles(got);
    bound_.statistic.shared_row = {&allowance_, shape.terms, shape.inner, shape.additive};
  }

  SharedRowFinding Judge() const { return JudgeSharedRows(MakeJudge(), got_); }

  // The largest of all rows.
  double LeastAllowance() const {
    std::vector<double> least(static_cast<size_t>(shape_.rows));
    for (int64_t i = 0; i < golden_.size(); ++i) {
      for (int64_t j = 0; j < i; ++j) {
        if (RowOf(i) != RowOf(j)) continue;
        const Interval a = IntervalOf(i), b = IntervalOf(j);
        if (!a.judged || !b.judged) continue;
        const double t = (std::fabs(a.error - b.error) - a.width - b.width) / (a.allowance + b.allowance);
        double& row = least[static_cast<size_t>(RowOf(i))];
        row = std::max(row, t);
      }
    }
    return *std::ranges::max_element(least);
  }

 private:
  struct Interval {
    bool judged;
    double error, width, allowance;
  };

  ElementJudge MakeJudge() const { return {golden_, bound_, Contract(), shape_.type}; }
  int64_t RowOf(int64_t i) const { return i / (shape_.terms * shape_.inner) * shape_.inner + i % shape_.inner; }

  Interval IntervalOf(int64_t i) const {
    const ElementJudge judge = MakeJudge();
    const double y = golden_.value[static_cast<size_t>(i)], got = ValueAt(got_, i);
    const double by = shape_.additive ? 1 : y;
    const Judgement judged = judge.Compare(i, got);
    if (!judged.finite || by == 0) return {};
    const double ulp = UlpAt(FormatOf(shape_.type), std::max(std::fabs(got), std::fabs(y)));
    const double width = std::max(judge.params().own_rounding_ulps * ulp, judge.params().lambda_out) + golden_.error[i];
    return {true, judged.error / by, width / std::fabs(by), allowance_[i] / std::fabs(by)};
  }

  SharedCase shape_;
  Golden golden_;
  BoundModel bound_;
  Plane allowance_;
  Tensor got_;
};

TEST(SharedRows, NeedWhatTheWorstPairNeeds) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    for (const bool additive : {false, true}) {
      for (const auto& [terms, inner] : {std::pair<int64_t, int64_t>(2, 1), {8, 1}, {37, 1}, {37, 3}, {64, 2}}) {
        const RowsCase rows({type, 6, terms, inner, additive});
        const double expected = rows.LeastAllowance(), margin = rows.Judge().margin;
        EXPECT_GE(margin, expected * (1 - 1e-12)) << Name(type) << " " << terms << " " << inner << " " << additive;
        EXPECT_LE(margin, std::max(expected, 1.0) * 1.002) << Name(type) << " " << terms << " " << inner;
        if (type == DType::kF32 && terms > 8) {
          EXPECT_GT(expected, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
