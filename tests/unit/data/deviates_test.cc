// SPDX-License-Identifier: Apache-2.0
// The distributions of uniform and normal deviates, and their values against the mathematical library's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "harness/core/data/fill/float_normal.h"
#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

double LargestCdfGap(std::vector<double> sample, double (*cdf)(double)) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double gap = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(sample[i]);
    gap = std::max({gap, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return gap;
}

double NormalCdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// Kolmogorov-Smirnov: sqrt(n) D exceeds 1.95 with probability 0.001.
void ExpectFollows(const std::vector<double>& sample, double (*cdf)(double)) {
  EXPECT_LT(LargestCdfGap(sample, cdf) * std::sqrt(static_cast<double>(sample.size())), 1.95);
}

// Even and odd elements are the two halves of Box-Muller and are looked at apart.
template <class T>
void ExpectNormal() {
  constexpr size_t kCount = 1 << 18;
  std::vector<T> all(2 * kCount);
  std::vector<double> even, odd;
  RandomStream(42, 0).FillNormal(0, std::span(all));
  double sum = 0, squares = 0, cubes = 0, fourths = 0, products = 0, beyond = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const double x = all[i];
    (i % 2 == 0 ? even : odd).push_back(x);
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
    beyond += std::fabs(x) > 4;
    if (i > 0) products += x * all[i - 1];
  }
  const auto n = static_cast<double>(all.size());
  const double sd = 1 / std::sqrt(n), tail = 2 * NormalCdf(-4);
  EXPECT_NEAR(sum / n, 0, 4 * sd);
  EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2.0) * sd);
  EXPECT_NEAR(cubes / n, 0, 4 * std::sqrt(15.0) * sd);
  EXPECT_NEAR(fourths / n, 3, 4 * std::sqrt(96.0) * sd);
  EXPECT_NEAR(products / n, 0, 4 * sd);
  EXPECT_NEAR(beyond, n * tail, 4 * std::sqrt(n * tail));
  ExpectFollows(even, NormalCdf);
  ExpectFollows(odd, NormalCdf);
}

TEST(Deviates, NormalFollowsTheNormalDistribution) {
  ExpectNormal<double>();
}

TEST(Deviates, FloatNormalFollowsTheNormalDistribution) {
  ExpectNormal<float>();
}

TEST(Deviates, SymmetricFollowsTheUniformDistribution) {
  constexpr auto kCdf = [](double x) { return (x + 1) / 2; };
  std::vector<double> wide(1 << 18);
  std::vector<float> narrow(1 << 18);
  RandomStream(43, 0).FillSymmetric(0, wide);
  RandomStream(43, 0).FillSymmetric(0, narrow);
  ExpectFollows(wide, kCdf);
  ExpectFollows(std::vector<double>(narrow.begin(), narrow.end()), kCdf);
}

TEST(Deviates, FloatSymmetricIsASignedWordOver2To31) {
  const RandomStream random(3, 4);
  for (uint64_t i = 0; i < 1000; ++i) {
    const double exact = static_cast<int32_t>(random.Word(i)) * 0x1p-31;
    EXPECT_EQ(random.FloatSymmetric(i), static_cast<float>(exact));
  }
}

// The pair against Box-Muller by the mathematical library.
TEST(Deviates, NormalIsBoxMuller) {
  const RandomStream random(9, 9);
  for (uint64_t block = 0; block < 20000; ++block) {
    const long double u = static_cast<long double>((random.Bits(2 * block) >> 11) + 1) * 0x1p-53L;
    const long double angle = 6.283185307179586476925286766559L * random.Uniform(2 * block + 1);
    const long double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(random.Normal(2 * block), static_cast<double>(radius * std::cos(angle)), 2e-15);
    ASSERT_NEAR(random.Normal(2 * block + 1), static_cast<double>(radius * std::sin(angle)), 2e-15);
  }
}

double FloatUlpsOff(float got, long double want) {
  const float near = std::fabs(static_cast<float>(want));
  const float spacing = std::nextafter(near, std::numeric_limits<float>::infinity()) - near;
  return static_cast<double>(std::fabs(got - want) / spacing);
}

struct Worst {
  double radius = 0, deviate = 0;  // in ulps
  float least = INFINITY;
};

// Against the same pair in long double, from the distance of u to 1 and of the angle to an axis, which are exact.
void Measure(uint32_t radius_word, uint32_t angle_word, Worst& worst) {
  const bool upper = radius_word >> 31 != 0;
  const long double d = (0x1p32L - radius_word - 0.5L) * 0x1p-32L, u = (radius_word + 0.5L) * 0x1p-32L;
  const long double radius = std::sqrt(-2 * (upper ? std::log1p(-d) : std::log(u)));
  const uint32_t quadrant = (angle_word + (1u << 29)) >> 30;
  const long double steps = static_cast<int32_t>(angle_word - (quadrant << 30)) + 0.5L;
  const long double angle = steps * 0x1p-32L * 6.283185307179586476925286766559L;
  const long double c = std::cos(angle), s = std::sin(angle);
  const long double x[] = {c, -s, -c, s}, y[] = {s, c, -s, -c};
  const internal::FloatPair pair = internal::FloatNormals(radius_word, angle_word);
  worst.radius = std::max(worst.radius, FloatUlpsOff(std::sqrt(internal::SquaredRadius(radius_word)), radius));
  worst.deviate = std::max(
      {worst.deviate, FloatUlpsOff(pair.first, radius * x[quadrant]), FloatUlpsOff(pair.second, radius * y[quadrant])});
  worst.least = std::min({worst.least, std::fabs(pair.first), std::fabs(pair.second)});
}

TEST(Deviates, FloatNormalIsBoxMuller) {
  const RandomStream random(9, 9);
  Worst worst;
  for (uint64_t i = 0; i < 1000000; ++i) Measure(random.Word(2 * i), random.Word(2 * i + 1), worst);
  std::vector<uint32_t> edges;  // next to every power of two and to every multiple of an eighth
  for (int bit = 0; bit < 32; ++bit) {
    for (uint32_t step : {~1u, ~0u, 0u, 1u}) {
      edges.insert(edges.end(),
                   {(1u << bit) + step, ~(1u << bit) + step, static_cast<uint32_t>(bit) * (1u << 29) + step});
    }
  }
  for (uint32_t a : edges) {
    for (uint32_t b : edges) Measure(a, b, worst);
  }
  EXPECT_LT(worst.radius, 2.0);
  EXPECT_LT(worst.deviate, 5.0);
  EXPECT_GT(worst.deviate, 0.5);  // not correctly rounded: the measure is alive
  EXPECT_GT(worst.least, 0.0f);
}

TEST(Deviates, FloatRadiiGoFromTheLeastDistanceToTheLargest) {
  EXPECT_FLOAT_EQ(std::sqrt(internal::SquaredRadius(~0u)), 0x1p-16f);
  EXPECT_FLOAT_EQ(std::sqrt(internal::SquaredRadius(0)), static_cast<float>(std::sqrt(66 * std::log(2.0))));
}

}  // namespace
}  // namespace assay
