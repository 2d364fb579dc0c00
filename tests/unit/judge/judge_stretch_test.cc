// SPDX-License-Identifier: Apache-2.0
// Numbers of a stretch of elements against those of single elements, to the last bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/core/data/fill/rng.h"
#include "harness/judge/judge.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

constexpr int64_t kValues = 1400;  // more than two blocks, and no whole number of them

// Random numbers with zeros, and infinities where `holes`.
Plane RandomPlane(uint64_t seed, int64_t size, bool wide, bool holes) {
  Plane plane(size, wide);
  const RandomStream random(seed, 1);
  for (int64_t i = 0; i < size; ++i) {
    plane.Set(i, i % 7 == 3 ? 0 : holes && i % 101 == 5 ? kInf : std::fabs(random.Normal(i)));
  }
  return plane;
}

struct StretchCase {
  Golden golden;
  BoundModel bound;
  Plane term, deviation, systematic;

  explicit StretchCase(bool wide, int64_t per_plane) {
    golden.shape = {kValues};
    const RandomStream random(9, 1);
    for (int64_t i = 0; i < kValues; ++i) golden.value.push_back(i % 11 == 2 ? 0 : random.Normal(i));
    golden.magnitude = RandomPlane(1, kValues, wide, false);
    golden.sigma = RandomPlane(2, per_plane, wide, false);
    golden.error = RandomPlane(3, kValues, wide, true);
    term = RandomPlane(4, per_plane, wide, true);
    deviation = RandomPlane(5, kValues, wide, false);
    systematic = RandomPlane(6, per_plane, wide, true);
    bound.constant = 0.1;
    bound.terms = {{&golden.magnitude, 0x1p-20}, {&term, kInf}, {&deviation, 0}};
    bound.statistic.floor = 0.3;
    bound.statistic.constant = 1e-3;
    bound.statistic.of_value = 0.7;
    bound.statistic.of_magnitude = 0.2;
    bound.statistic.of_sigma = 3;
    bound.statistic.deviations = {{&deviation, 0.01}, {&term, 0.02}};
    bound.statistic.systematic = {{&systematic, 2}, {&term, 0}};
  }
};

bool Same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

void ExpectSame(const StretchCase& judged, const Contract& contract) {
  const ElementJudge judge(judged.golden, judged.bound, contract, DType::kF32);
  for (const int64_t first : {0, 1, 513, 1399}) {
    const auto count = static_cast<size_t>(kValues - first);
    std::vector<double> accumulated(count), sigma(count), systematic(count);
    judge.ReadAccumulated(first, accumulated);
    judge.ReadStatistic(first, sigma, systematic);
    for (size_t k = 0; k < count; ++k) {
      const int64_t i = first + static_cast<int64_t>(k);
      ASSERT_TRUE(Same(accumulated[k], judge.Accumulated(i))) << i << ": " << accumulated[k];
      ASSERT_TRUE(Same(sigma[k], judge.Sigma(i))) << i << ": " << sigma[k];
      ASSERT_TRUE(Same(systematic[k], judge.Systematic(i))) << i << ": " << systematic[k];
    }
  }
}

TEST(JudgeStretch, IsThatOfSingleElements) {
  for (const bool wide : {false, true}) ExpectSame(StretchCase(wide, kValues), Contract());
}

// Planes of complex outputs may have one number for both components.
TEST(JudgeStretch, ReadsPlanesOfWholeElements) {
  ExpectSame(StretchCase(false, kValues / 2), Contract());
}

TEST(JudgeStretch, HasNoBoundWhereResultsAreExact) {
  StretchCase judged(false, kValues);
  judged.bound.exact = true;
  ExpectSame(judged, Contract());
}

}  // namespace
}  // namespace assay
