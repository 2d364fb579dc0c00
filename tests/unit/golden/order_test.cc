// SPDX-License-Identifier: Apache-2.0
// sigma against sums in orders that the golden value does not follow. A sum with the running values s has an error of
// deviation 0.425 u sqrt(sum s^2), so that the chance of an error beyond c sigma follows without simulating roundings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm.h"
#include "golden/sums/sum.h"
#include "harness/data/fill/fill.h"
#include "harness/model/contract.h"

namespace assay {
namespace {

using Order = std::vector<int64_t>;

// [rows, k] of products, each row the terms of one element.
struct Terms {
  int64_t rows, k;
  std::vector<double> x;
};

constexpr int64_t kSide = 32;  // of the products' output

Tensor Filled(const std::string& fill, Shape shape, int role, int reduced_axis) {
  Tensor t(DType::kF32, std::move(shape));
  FillTensor(ParseFill(fill).value(), 3, static_cast<uint64_t>(role), reduced_axis, role, t);
  return t;
}

Terms ProductsOf(const Tensor& a, const Tensor& b, int64_t k) {
  const std::vector<double> left = a.ToDoubles(), right = b.ToDoubles();
  Terms terms{kSide * kSide, k, {}};
  for (int64_t i = 0; i < kSide; ++i) {
    for (int64_t j = 0; j < kSide; ++j) {
      for (int64_t t = 0; t < k; ++t) terms.x.push_back(left[i * k + t] * right[t * kSide + j]);
    }
  }
  return terms;
}

// What the statistic takes for the deviation of f32 sums, in units of u.
std::vector<double> JudgedSigma(const Golden& golden, int64_t k) {
  const Contract contract = ParseDeclaration("f32acc").value();
  const auto height = static_cast<double>(k);
  const BoundModel bound = SumBound(golden, contract, DType::kF32, {.terms = height, .height = height});
  std::vector<double> sigma;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double least = bound.statistic.floor * (golden.magnitude[i] + std::fabs(golden.value[i]));
    sigma.push_back(std::max(golden.sigma[i], least / contract.AccUnitRoundoff()));
  }
  return sigma;
}

// The mean chance that an element of a sum in this order errs by more than c sigma.
double ChanceBeyond(double c, const Terms& terms, const std::vector<double>& sigma, const Order& order) {
  double chance = 0;
  for (int64_t row = 0; row < terms.rows; ++row) {
    double s = 0, energy = 0;
    for (const int64_t t : order) {
      s += terms.x[row * terms.k + t];
      energy += s * s;
    }
    if (energy > 0) chance += std::erfc(c * sigma[row] / (kRoundingDeviation * std::sqrt(2 * energy)));
  }
  return chance / static_cast<double>(terms.rows);
}

Order Identity(int64_t k) {
  Order order(k);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order Shuffled(int64_t k, uint64_t seed) {
  Order order = Identity(k);
  std::mt19937_64 random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// (c, tap) as (block of c, tap, c in the block), as convolutions read blocked layouts; all of c: (tap, c).
Order Nested(int64_t k, int64_t taps, int64_t block) {
  Order order;
  for (int64_t first = 0; first < k / taps; first += block) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = first; c < std::min(first + block, k / taps); ++c) order.push_back(c * taps + tap);
    }
  }
  return order;
}

std::vector<Order> OrdersOf(int64_t k) {
  std::vector<Order> orders = {Nested(k, 9, k), Nested(k, 9, 16), Nested(k, 9, 8), Nested(k, 8, k)};
  for (uint64_t seed = 0; seed < 3; ++seed) orders.push_back(Shuffled(k, seed));
  return orders;
}

// 5 sigma: what outliers are counted at, 6.3e-5 for a normal error that the model underestimates by 1.25. 8 sigma: a
// mismatch. Few dominating terms can cancel inside of a panel, which then hides them: a higher limit.
void ExpectRare(const Terms& terms, const Golden& golden, const std::string& fill) {
  const std::vector<double> sigma = JudgedSigma(golden, terms.k);
  const double mismatch = fill == "lognormal" || fill == "outlier" ? 1e-7 : 1e-9;
  for (const Order& order : OrdersOf(terms.k)) {
    EXPECT_LE(ChanceBeyond(5, terms, sigma, order), 6.3e-5);
    EXPECT_LE(ChanceBeyond(8, terms, sigma, order), mismatch);
  }
}

TEST(Order, ErrorsOfProductsInOtherOrdersAreRarelyBeyond) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e4"}) {
    for (const int64_t k : {72, 576, 2304}) {
      SCOPED_TRACE(fill + " " + std::to_string(k));
      const Tensor a = Filled(fill, {kSide, k}, 0, 1), b = Filled(fill, {k, kSide}, 1, 0);
      const Terms terms = ProductsOf(a, b, k);
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
        ExpectRare(terms, GoldenGemm({.m = kSide, .n = kSide, .k = k}, a, b, tier, false), fill);
      }
    }
  }
}

TEST(Order, ErrorsOfRowSumsInOtherOrdersAreRarelyBeyond) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e4"}) {
    const int64_t rows = 1000, k = 2304;
    SCOPED_TRACE(fill);
    const Terms terms{rows, k, Filled(fill, {rows, k}, 0, 1).ToDoubles()};
    ExpectRare(terms, GoldenRowSums(terms.x, rows, k, Tier::kFast, false, 0, false), fill);
  }
}

// No order's running sums exceed (S + |y|) / 2: what sigma grants beyond the golden's own order ends there.
TEST(Order, SigmaEndsWhereNoOrderReaches) {
  const std::vector<double> x = {1, 1e-3, 1e-3, 1e-3};
  const Golden golden = GoldenRowSums(x, 1, 4, Tier::kFast, false, 0, false);
  EXPECT_FLOAT_EQ(static_cast<float>(golden.sigma[0]), kRoundingDeviation * std::sqrt(4.0) * 1.003);
}

}  // namespace
}  // namespace assay
