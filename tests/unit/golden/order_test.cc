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
#include "harness/core/data/fill/fill.h"
#include "harness/core/model/contract.h"

namespace assay {
namespace {

using Order = std::vector<int64_t>;

// [rows, k] of products, each row the terms of one element.
struct Terms {
  int64_t rows, k;
  std::vector<double> x;
};

constexpr int64_t kSide = 32;  // of the products' output

Tensor Filled(const std::string& fill, Shape shape, int role, int reduced_axis, uint64_t seed = 3) {
  Tensor t(DType::kF32, std::move(shape));
  FillTensor(ParseFill(fill).value(), seed, static_cast<uint64_t>(role), reduced_axis, role, t);
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

// The statistic's standard deviation of f32 sums, in units of u. `rows`: the squares of the terms are known.
std::vector<double> JudgedSigma(const Golden& golden, int64_t k, bool rows = false) {
  const Contract contract = ParseDeclaration("f32acc").value();
  const auto height = static_cast<double>(k);
  const BoundModel bound =
      SumBound(golden, contract, DType::kF32, {.terms = height, .height = height, .squares_known = rows});
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
// mismatch.
void ExpectRare(const Terms& terms, const Golden& golden, bool rows = false) {
  const std::vector<double> sigma = JudgedSigma(golden, terms.k, rows);
  for (const Order& order : OrdersOf(terms.k)) {
    EXPECT_LE(ChanceBeyond(5, terms, sigma, order), 6.3e-5);
    EXPECT_LE(ChanceBeyond(8, terms, sigma, order), 1e-9);
  }
}

TEST(Order, ErrorsOfProductsInOtherOrdersAreRarelyBeyond) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e4"}) {
    for (const int64_t k : {72, 576, 2304}) {
      SCOPED_TRACE(fill + " " + std::to_string(k));
      const Tensor a = Filled(fill, {kSide, k}, 0, 1), b = Filled(fill, {k, kSide}, 1, 0);
      const Terms terms = ProductsOf(a, b, k);
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
        ExpectRare(terms, GoldenGemm({.m = kSide, .n = kSide, .k = k}, a, b, tier, false));
      }
    }
  }
}

TEST(Order, ErrorsOfRowSumsInOtherOrdersAreRarelyBeyond) {
  for (const std::string fill : {"normal", "uniform", "lognormal", "outlier", "cancel-1e4"}) {
    for (const int64_t k : {2, 9, 18, 63, 72, 2304}) {
      const int64_t rows = 1000;
      SCOPED_TRACE(fill + " " + std::to_string(k));
      const Terms terms{rows, k, Filled(fill, {rows, k}, 0, 1).ToDoubles()};
      ExpectRare(terms, GoldenRowSums(terms.x, rows, k, Tier::kFast, false, 0, false), true);
    }
  }
}

// A few channels are 40 to 60 times as large as all others: two of them may cancel inside of a panel, whose sum then
// shows neither. A million elements, each in an order of its own.
TEST(Order, LargeTermsThatCancelInsideOfAPanelAreSeen) {
  for (const int64_t k : {192, 512}) {
    SCOPED_TRACE(k);
    double chance = 0;
    constexpr int kTensors = 8, kOrders = 61;
    for (uint64_t seed = 0; seed < kTensors; ++seed) {
      const Tensor a = Filled("outlier", {kSide, k}, 0, 1, seed), b = Filled("normal", {k, kSide}, 1, 0, seed);
      const Terms terms = ProductsOf(a, b, k);
      const Tier tier = seed % 2 == 0 ? Tier::kFast : Tier::kReproducible;
      const std::vector<double> sigma = JudgedSigma(GoldenGemm({.m = kSide, .n = kSide, .k = k}, a, b, tier, false), k);
      for (uint64_t order = 0; order < kOrders; ++order) {
        chance += ChanceBeyond(8, terms, sigma, Shuffled(k, seed * kOrders + order));
      }
    }
    EXPECT_LE(chance / (kTensors * kOrders), 1e-10);
  }
}

// The worst of them: two terms that cancel and dwarf all others, between which the running sum is as large as they are.
TEST(Order, TwoTermsThatCancelAreSeen) {
  const int64_t k = 512, large[] = {65, 127};
  Tensor a = Filled("normal", {kSide, k}, 0, 1), b = Filled("normal", {k, kSide}, 1, 0);
  for (int64_t i = 0; i < kSide; ++i) {
    for (const int64_t at : large) {
      a.As<float>()[i * k + at] = at == large[0] ? 300 : -300;
      b.As<float>()[at * kSide + i] = 1;
    }
  }
  const Terms terms = ProductsOf(a, b, k);
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    ExpectRare(terms, GoldenGemm({.m = kSide, .n = kSide, .k = k}, a, b, tier, false));
  }
  Terms row{1, k, {}};
  for (int64_t t = 0; t < k; ++t) row.x.push_back(terms.x[t]);
  ExpectRare(row, GoldenRowSums(row.x, 1, k, Tier::kFast, false, 0, false), true);
}

// No order's running sums exceed (S + |y|) / 2: what sigma grants beyond the golden's own order ends there.
TEST(Order, SigmaEndsWhereNoOrderReaches) {
  const std::vector<double> x = {1, 1e-3, 1e-3, 1e-3};
  const Golden golden = GoldenRowSums(x, 1, 4, Tier::kFast, false, 0, false);
  EXPECT_FLOAT_EQ(static_cast<float>(golden.sigma[0]), kRoundingDeviation * std::sqrt(4.0) * 1.003);
}

}  // namespace
}  // namespace assay
