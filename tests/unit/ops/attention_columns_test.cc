// SPDX-License-Identifier: Apache-2.0
// The loops of golden attention: the reproducible tier's bits are the same with every kind of vector, and both tiers'
// with and without a mask that hides nothing; the fast tier's planes hold.
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "ops/attention/attention.h"
#include "ops/attention/attention_tile.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

void ExpectSamePlanes(const Plane& x, const Plane& y, const std::string& name) {
  ASSERT_EQ(x.size(), y.size()) << name;
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i]) << name << " " << i;
}

void ExpectSame(const Golden& x, const Golden& y) {
  ASSERT_EQ(x.value, y.value);
  ASSERT_EQ(x.value_lo, y.value_lo);
  ExpectSamePlanes(x.magnitude, y.magnitude, "magnitude");
  ExpectSamePlanes(x.sigma, y.sigma, "sigma");
  ExpectSamePlanes(x.error, y.error, "error");
  ASSERT_EQ(x.extra.size(), y.extra.size());
  for (size_t i = 0; i < x.extra.size(); ++i) {
    ASSERT_EQ(x.extra[i].first, y.extra[i].first);
    ExpectSamePlanes(x.extra[i].second, y.extra[i].second, x.extra[i].first);
  }
}

constexpr int64_t kColumns = 77;

Golden GoldenOf(const std::string& attrs, Tier tier, const std::string& fill = "normal") {
  const Problem problem = Bind("attention/f32/b=1,h=2,l=9,s=150,d=20,dv=77" + attrs + "/fill=" + fill + "/seed=0");
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  if (inputs.size() == 4) std::memset(inputs[3].data(), 1, inputs[3].bytes());
  return Op("attention").ComputeGolden(problem, 0, inputs, tier);
}

TEST(AttentionColumns, AMaskThatHidesNothingChangesNoBit) {
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    for (const std::string fill : {"normal", "outlier", "lognormal"}) {
      SCOPED_TRACE(fill);
      ExpectSame(GoldenOf("", tier, fill), GoldenOf(",mask=bool", tier, fill));
      ExpectSame(GoldenOf(",causal=1", tier, fill), GoldenOf(",causal=1,mask=bool", tier, fill));
    }
  }
}

const std::vector<std::string> kPlaneFills = {"normal", "lognormal"};

void WithEveryTarget(const std::function<void(const std::vector<Golden>&)>& check, Tier tier) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<Golden> now;
    for (const std::string& fill : kPlaneFills) now.push_back(GoldenOf(",causal=1", tier, fill));
    check(now);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(AttentionColumns, EveryVectorTargetGivesTheSameBits) {
  std::vector<Golden> first;
  const auto check = [&](const std::vector<Golden>& now) {
    if (first.empty()) first = now;
    for (size_t i = 0; i < now.size(); ++i) ExpectSame(first[i], now[i]);
  };
  WithEveryTarget(check, Tier::kReproducible);
}

// The planes of the fast tier, some of them summed in float, beside those of the other, all in double: bounds are no
// less, and nothing is off by more than float sums of 256 terms, and the least weight, may be.
TEST(AttentionColumns, FastPlanesAreThoseInDoubleButForFloatSums) {
  std::vector<Golden> exact;
  for (const std::string& fill : kPlaneFills) exact.push_back(GoldenOf(",causal=1", Tier::kReproducible, fill));
  const auto check = [&](const std::vector<Golden>& now) {
    for (size_t i = 0; i < now.size(); ++i) {
      const Golden &fast = now[i], &best = exact[i];
      for (int64_t e = 0; e < fast.size(); ++e) {
        ASSERT_LE(std::abs(fast.value[e] - best.value[e]), fast.error[e] + best.error[e]) << e;
        ASSERT_GE(fast.magnitude[e], best.magnitude[e]) << e;
        ASSERT_LE(fast.magnitude[e], best.magnitude[e] * (1 + 4e-5)) << e;
        ASSERT_NEAR(fast.sigma[e], best.sigma[e], best.sigma[e] * 1e-4) << e;
        const auto expect_bound = [&](const char* name, RowFact mean) {
          const double had = (*best.Extra(name))[e], has = (*fast.Extra(name))[e];
          ASSERT_GE(has, had) << name << e;
          const double off = 0x1p-46 * std::abs(best.value[e]) * (*best.Extra("rows"))[e / kColumns * kRowFacts + mean];
          ASSERT_LE(has, had * (1 + 8e-5) + off + 150 * 0x1p-90 * (*best.Extra("range"))[e] + 0x1p-140) << name << e;
        };
        expect_bound("dot_weight", kDotMean), expect_bound("added_weight", kAddedMean);
        for (const char* name : {"shift_weight", "move_weight"}) {
          const double weight = (*best.Extra(name))[e];
          ASSERT_NEAR((*fast.Extra(name))[e], weight, weight * 1e-4 + 0x1p-70 * (*best.Extra("range"))[e]) << name << e;
        }
      }
    }
  };
  WithEveryTarget(check, Tier::kFast);
}

// Rows longer than what is summed in float at a time, with a dimension and a number of queries that fill no tile,
// masked here and there.
TEST(AttentionColumns, FastPlanesHoldOverManyKeys) {
  for (const std::string shape : {"l=3,s=520,d=20,dv=33", "l=9,s=1100,d=257,dv=19,causal=1",
                                  "l=5,s=700,d=8,dv=9,window=300,softcap=3", "l=6,s=600,d=16,dv=17,mask=bool"}) {
    SCOPED_TRACE(shape);
    const Problem problem = Bind("attention/f32/b=1,h=1," + shape + "/fill=normal/seed=0");
    const std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
    const Golden fast = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast),
                 best = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    for (int64_t e = 0; e < fast.size(); ++e) {
      ASSERT_LE(std::abs(fast.value[e] - best.value[e]), fast.error[e] + best.error[e]) << e;
      ASSERT_GE(fast.magnitude[e], best.magnitude[e]) << e;
      ASSERT_LE(fast.magnitude[e], best.magnitude[e] * (1 + 4e-5)) << e;
      ASSERT_GE(fast.sigma[e], best.sigma[e] * (1 - 1e-4)) << e;
      ASSERT_LE(fast.sigma[e], best.sigma[e] * (1 + 5e-4)) << e;
      for (const char* bound : {"dot_weight", "added_weight"}) {
        const double least = (*best.Extra(bound))[e];
        ASSERT_GE((*fast.Extra(bound))[e], least) << bound << e;
        ASSERT_LE((*fast.Extra(bound))[e], least * (1 + 2e-4) + 0x1p-60) << bound << e;
      }
    }
  }
}

// Products of `n` keys as NarrowScoresOf gives them, with a key that shares nothing with the query.
struct Products {
  explicit Products(int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      dots.push_back(std::sin(static_cast<double>(i * i)) * 12);
      magnitudes.push_back(static_cast<float>(std::abs(dots.back()) + static_cast<double>(i % 5)));
    }
    dots.back() = 0, magnitudes.back() = 0;
  }
  std::vector<double> dots;
  std::vector<float> magnitudes;
};

void ExpectWeight(float has, double weight, const char* name) {
  const double least = weight > 0 ? double{kLeastWeight} : 0;
  ASSERT_GE(has, weight) << name;
  ASSERT_LE(has, std::max(weight * (1 + 0x1p-20), least)) << name;
}

void ExpectSum(double has, double sum, const char* name) {
  ASSERT_NEAR(has, sum, 1e-13 * sum) << name;
}

// Weights and sums of a plain row beside those that the definition gives key by key. `before`: keys not seen.
void ExpectPlainRow(int64_t n, int64_t before, double scale) {
  constexpr double kDepth = 80;
  const Products of(n);
  TileWeights tile;
  tile.Start(1, before + n + 3);
  const PlainRow row = tile.SetPlain(0, of.dots.data(), of.magnitudes.data(), before, n, scale, kDepth);
  ASSERT_TRUE(row.near);
  const TileWeights::Row to = tile.At(0);
  double largest = scale * of.dots[0], total = 0, p_sum = 0, magnitude = 0;
  for (const double dot : of.dots) largest = std::max(largest, scale * dot);
  for (const double dot : of.dots) total += std::exp(scale * dot - largest);
  RowSums sums;
  for (int64_t i = 0; i < n; ++i) {
    const double score = scale * of.dots[i], below = largest - score, p = std::exp(-below) / total;
    const double dot = std::abs(scale) * of.magnitudes[i], stored = std::abs(score);
    const int64_t at = before + i;
    ASSERT_NEAR(to.p[at], p, 1e-14 * p);
    ExpectWeight(to.up[at], to.p[at], "up");
    ExpectWeight(to.dot[at], to.p[at] * dot, "dot");
    ExpectWeight(to.added[at], to.p[at] * below, "added");
    const double squared = p * p, stored2 = squared * stored * stored;
    ASSERT_NEAR(to.squared[at], squared, 1e-6 * squared + 0x1p-148);  // subnormal floats
    ASSERT_NEAR(to.stored2[at], stored2, 1e-6 * stored2 + 0x1p-148);
    p_sum += to.p[at], magnitude = std::max<double>(magnitude, of.magnitudes[i]);
    sums.dot_mean += p * dot, sums.added_mean += p * below, sums.squares += p * p;
    sums.dot_max = std::max(sums.dot_max, dot), sums.added_max = std::max(sums.added_max, below);
    sums.size_mean += p * (kDepth * dot + 8 * below);
    sums.size_max = std::max(sums.size_max, kDepth * dot + 8 * below);
    if (below < kWeightless) sums.stored_max = std::max(sums.stored_max, stored);
  }
  ExpectSum(p_sum, 1, "p"), ExpectSum(row.most, 1 / total, "most");
  ASSERT_EQ(row.largest, largest);
  ASSERT_EQ(row.magnitude, magnitude);
  ExpectSum(row.sums.dot_mean, sums.dot_mean, "dot_mean"),
      ExpectSum(row.sums.added_mean, sums.added_mean, "added_mean");
  ExpectSum(row.sums.squares, sums.squares, "squares"), ExpectSum(row.sums.size_mean, sums.size_mean, "size_mean");
  ExpectSum(row.sums.dot_max, sums.dot_max, "dot_max"), ExpectSum(row.sums.dot_top, sums.dot_max, "dot_top");
  ExpectSum(row.sums.added_max, sums.added_max, "added_max"), ExpectSum(row.sums.size_max, sums.size_max, "size_max");
  ExpectSum(row.sums.stored_max, sums.stored_max, "stored_max");
  ASSERT_FALSE(row.sums.tail);
  ASSERT_EQ(to.spread, row.most <= kMostOfSpread);
  for (int64_t i = 0; i < before; ++i) ASSERT_EQ(to.p[i] + to.up[i] + to.stored2[i], 0);
  for (int64_t i = before + n; i < before + n + 3; ++i) ASSERT_EQ(to.p[i] + to.dot[i] + to.added[i], 0);
}

TEST(AttentionColumns, APlainRowIsWeighedLikeAnyOther) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (const int64_t n : {1, 2, 7, 15, 16, 17, 31, 33, 100}) {
      for (const double scale : {0.125, -3.0}) ExpectPlainRow(n, n % 4, scale);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

// A weight that far below the largest may vanish, and is left to the exponentials that reach as far.
TEST(AttentionColumns, ARowWithAKeyFarBelowIsNotPlain) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const int64_t at : {0, 5, 18}) {
      for (const double below : {kDead - 0.25, kDead, 1e7}) {
        std::vector<double> dots(19, 0.0);
        const std::vector<float> magnitudes(19, 1.0F);
        dots[at] = -below;
        TileWeights tile;
        tile.Start(1, 19);
        const PlainRow row = tile.SetPlain(0, dots.data(), magnitudes.data(), 0, 19, 1, 80);
        EXPECT_EQ(row.near, below < kDead) << hwy::TargetName(target) << " " << at << " " << below;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(AttentionColumns, ExponentialsAreWithinAnUlp) {
  std::vector<double> x;
  for (int i = 0; i <= 7000; ++i) x.push_back(-std::pow(i / 7000.0, 3) * 700);
  for (int k = 1; k < 60; ++k) x.push_back(-std::ldexp(1.0, -k)), x.push_back(-0.34657359027997264 * k);
  x.push_back(0);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<double> e(x.size());
    const double total = NearExponentials(x.data(), std::ssize(x), e.data());
    long double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double best = std::exp(static_cast<long double>(x[i]));
      ASSERT_LE(std::abs(e[i] - best), best * 0x1p-52L) << hwy::TargetName(target) << " " << x[i];
      sum += e[i];
    }
    EXPECT_EQ(e.front(), 1);
    EXPECT_EQ(e.back(), 1);
    EXPECT_NEAR(total, static_cast<double>(sum), 1e-11);
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace assay::test
