// SPDX-License-Identifier: Apache-2.0
// Checks an assumption of the scan of outliers: f32 sums, in any order, exceed kOutlierLevel no more often than
// kOutlierChance. The tensors have a million outputs, so that this can be counted.
#include <fmt/format.h>

#include "tests/support/full.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

constexpr int64_t kSide = 1024;

// out[j] = sum over k in [begin, end) of a[k] b[k][j], one after the other.
void AddInOrder(const float* a, const float* b, int64_t begin, int64_t end, std::vector<float>& out) {
  std::ranges::fill(out, 0.0F);
  for (int64_t k = begin; k < end; ++k) {
    for (int64_t j = 0; j < kSide; ++j) out[j] += a[k] * b[k * kSide + j];
  }
}

// Halves down to `leaf` terms.
void AddInHalves(const float* a, const float* b, int64_t begin, int64_t end, int64_t leaf, std::vector<float>& out) {
  if (end - begin <= leaf) return AddInOrder(a, b, begin, end, out);
  const int64_t middle = begin + (end - begin) / 2;
  std::vector<float> second(out.size());
  AddInHalves(a, b, begin, middle, leaf, out);
  AddInHalves(a, b, middle, end, leaf, second);
  for (int64_t j = 0; j < kSide; ++j) out[j] += second[j];
}

// Panels of `panel` terms, their sums added in order.
void AddInPanels(const float* a, const float* b, int64_t terms, int64_t panel, std::vector<float>& out) {
  std::vector<float> part(out.size());
  std::ranges::fill(out, 0.0F);
  for (int64_t k = 0; k < terms; k += panel) {
    AddInOrder(a, b, k, std::min(terms, k + panel), part);
    for (int64_t j = 0; j < kSide; ++j) out[j] += part[j];
  }
}

enum class SumOrder : uint8_t { kSequential, kPairwise, kBlocked };

Tensor Multiply(const StatisticCase& c, int64_t terms, SumOrder order) {
  Tensor got(c.problem.outputs[0].dtype, c.problem.outputs[0].shape);
  const float* b = c.inputs[1].As<float>().data();
  std::vector<float> row(kSide);
  for (int64_t i = 0; i < kSide; ++i) {
    const float* a = c.inputs[0].As<float>().data() + i * terms;
    if (order == SumOrder::kSequential) AddInOrder(a, b, 0, terms, row);
    if (order == SumOrder::kPairwise) AddInHalves(a, b, 0, terms, 1, row);
    if (order == SumOrder::kBlocked) AddInPanels(a, b, terms, 16, row);
    std::ranges::copy(row, got.As<float>().data() + i * kSide);
  }
  return got;
}

struct Counted {
  int64_t most = 0;
  double largest = 0;
};

void CountOutliers(int64_t terms, const char* fill, int seed, Counted& seen) {
  const StatisticCase c(fmt::format("matmul/f32/m={0},n={0},k={1}/fill={2}/seed={3}", kSide, terms, fill, seed),
                        "acc=f32");
  for (const SumOrder order : {SumOrder::kSequential, SumOrder::kPairwise, SumOrder::kBlocked}) {
    const ErrorMetrics m = Measure(c.golden, c.bound, c.contract, Multiply(c, terms, order));
    const std::string what = fmt::format("{} in order {}", c.problem.spec.Id(), static_cast<int>(order));
    EXPECT_TRUE(m.statistic.applicable) << what;
    EXPECT_TRUE(m.Holds() && m.statistic.Holds()) << what << ": " << m.statistic.reason;
    EXPECT_LE(static_cast<double>(m.statistic.outliers), kOutlierChance * kSide * kSide) << what;
    seen.most = std::max(seen.most, m.statistic.outliers);
    seen.largest = std::max(seen.largest, m.statistic.max_r);
  }
}

TEST(Outliers, OfFloatSumsAreWithinTheNullModel) {
  Counted seen;
  for (const int64_t terms : {2, 3, 8, 64}) {
    for (const char* fill : {"normal", "outlier", "lognormal"}) {
      for (int seed = 0; seed < (kIsFull ? 2 : 1); ++seed) CountOutliers(terms, fill, seed, seen);
    }
  }
  CountOutliers(512, "normal", 0, seen);
  EXPECT_GT(seen.largest, 2);  // errors are there to be counted
  fmt::print("at most {} of {} values beyond {} deviations, the largest {:.2f}\n", seen.most, kSide * kSide,
             kOutlierLevel, seen.largest);
}

}  // namespace
}  // namespace assay::test
