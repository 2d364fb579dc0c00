// SPDX-License-Identifier: Apache-2.0
// Golden values have the same bits for every thread count, and in the reproducible tier for all vector instructions.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm.h"
#include "golden/sums/sum.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill.h"

namespace assay {
namespace {

Tensor Make(DType dtype, Shape shape, uint64_t stream, const char* fill) {
  Tensor t(dtype, std::move(shape));
  FillTensor(ParseFill(fill).value(), 5, stream, -1, 0, t);
  return t;
}

void ExpectSamePlane(const Plane& x, const Plane& y) {
  ASSERT_EQ(x.size(), y.size());
  for (int64_t i = 0; i < x.size(); ++i) {
    const double a = x[i], b = y[i];
    ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0) << i << ": " << a << " " << b;
  }
}

void ExpectSameBits(const Golden& x, const Golden& y) {
  ASSERT_EQ(x.size(), y.size());
  EXPECT_EQ(std::memcmp(x.value.data(), y.value.data(), x.value.size() * sizeof(double)), 0);
  ASSERT_EQ(x.value_lo.size(), y.value_lo.size());
  EXPECT_TRUE(x.value_lo.empty() ||
              std::memcmp(x.value_lo.data(), y.value_lo.data(), x.value_lo.size() * sizeof(double)) == 0);
  ExpectSamePlane(x.magnitude, y.magnitude);
  ExpectSamePlane(x.sigma, y.sigma);
  ExpectSamePlane(x.error, y.error);
  ASSERT_EQ(x.extra.size(), y.extra.size());
  for (size_t i = 0; i < x.extra.size(); ++i) ExpectSamePlane(x.extra[i].second, y.extra[i].second);
}

constexpr int kTerms = 133;

Golden Product(DType dtype, Tier tier, const char* fill) {
  const GemmShape s{.m = 141, .n = 271, .k = kTerms, .batch = 2, .transa = true};
  return GoldenGemm(s, Make(dtype, {2, s.k, s.m}, 0, fill), Make(dtype, {2, s.k, s.n}, 1, fill), tier,
                    dtype == DType::kF64);
}

std::vector<Golden> RowReductions(Tier tier) {
  const Tensor x = Make(DType::kF64, {50, 1000}, 0, "lognormal");
  const std::vector<double> v = x.ToDoubles();
  std::vector<Golden> all;
  all.push_back(GoldenRowSums(v, 50, 1000, tier, false, 0, true));
  all.push_back(GoldenRowSums(v, 50, 1000, tier, true, 1e-3, true));
  all.push_back(GoldenRowProducts(v, 50, 1000, true));
  all.push_back(GoldenRowLogSumExp(v, 50, 1000, tier, true));
  return all;
}

class Threads : public ::testing::Test {
 protected:
  const int before_ = ThreadCount();
  void TearDown() override { SetThreadCount(before_); }
};

TEST_F(Threads, ProductsDoNotDependOnThem) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16}) {
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      for (const char* fill : {"normal", "subnormal"}) {
        SetThreadCount(1);
        const Golden one = Product(dtype, tier, fill);
        SetThreadCount(4);
        ExpectSameBits(one, Product(dtype, tier, fill));
      }
    }
  }
}

TEST_F(Threads, ManySmallProductsDoNotDependOnThem) {
  const GemmShape s{.m = 5, .n = 17, .k = 70, .batch = 40};
  const Tensor a = Make(DType::kF32, {s.batch, s.m, s.k}, 0, "normal"),
               b = Make(DType::kF32, {s.batch, s.k, s.n}, 1, "normal");
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    SetThreadCount(1);
    const Golden one = GoldenGemm(s, a, b, tier, false);
    SetThreadCount(4);
    ExpectSameBits(one, GoldenGemm(s, a, b, tier, false));
  }
}

TEST_F(Threads, RowReductionsDoNotDependOnThem) {
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    SetThreadCount(1);
    const std::vector<Golden> one = RowReductions(tier);
    SetThreadCount(4);
    const std::vector<Golden> four = RowReductions(tier);
    for (size_t i = 0; i < one.size(); ++i) ExpectSameBits(one[i], four[i]);
  }
}

TEST(VectorTargets, ReproducibleTierGivesTheSameBitsOnAll) {
  std::vector<Golden> first;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<Golden> now = RowReductions(Tier::kReproducible);
    now.push_back(Product(DType::kF64, Tier::kReproducible, "lognormal"));
    now.push_back(Product(DType::kF64, Tier::kReproducible, "subnormal"));
    now.push_back(Product(DType::kF64, Tier::kReproducible, "normal"));
    now.push_back(Product(DType::kF32, Tier::kReproducible, "normal"));
    now.push_back(Product(DType::kF32, Tier::kReproducible, "outlier"));
    now.push_back(Product(DType::kBF16, Tier::kReproducible, "special"));
    if (first.empty()) first = std::move(now);
    for (size_t i = 0; i < now.size(); ++i) ExpectSameBits(first[i], now[i]);
  }
  hwy::SetSupportedTargetsForTest(0);
}

// The planes of a fast product against those of the reproducible tier: bounds still, and no looser than their own
// allowance of a sum of kTerms in float, as the sum itself errs and twice over that.
void ExpectTightBounds(const Golden& fast, const Golden& exact) {
  ASSERT_EQ(fast.magnitude.size(), exact.magnitude.size());
  if (!fast.exact) {
    ASSERT_EQ(fast.magnitude.size(), fast.size());
  }
  ASSERT_EQ(fast.error.size(), fast.exact ? 0 : fast.size());
  const double slack = 1 + 4 * Gamma(kTerms + 2, 0x1p-24), unit = Gamma(kTerms + 2, 0x1p-53);
  for (int64_t i = 0; i < fast.magnitude.size(); ++i) {
    const double s = exact.magnitude[i];
    ASSERT_GE(fast.magnitude[i], s) << i;
    ASSERT_LE(fast.magnitude[i], s * slack) << i;
    if (fast.error.empty()) continue;
    ASSERT_GE(fast.error[i], s * unit) << i;
    ASSERT_LE(fast.error[i], s * unit * slack) << i;
  }
}

// Products of narrow types are exact in double, fused or not; magnitudes are summed in float, where they are not.
TEST(VectorTargets, FastProductsHaveTheSameValuesAndTightBoundsOnAll) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
    const Golden exact = Product(dtype, Tier::kReproducible, "normal");
    std::vector<double> first;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      const Golden now = Product(dtype, Tier::kFast, "normal");
      if (first.empty()) first = now.value;
      ASSERT_EQ(first, now.value);
      ExpectTightBounds(now, exact);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace
}  // namespace assay
