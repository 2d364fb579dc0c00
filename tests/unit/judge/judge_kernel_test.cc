// SPDX-License-Identifier: Apache-2.0
// The streaming kernel against its arithmetic written down once more, one element after the other, to the last bit:
// tiles of every sort of number, on every instruction set.
#include "harness/judge/kernel/judge_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "harness/core/data/fill/rng.h"
#include "hwy/highway.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

struct TileData {
  std::vector<double> value;
  std::vector<float> got, term, sigma, error, r2;
  explicit TileData(size_t n) : value(n), got(n), term(n), sigma(n), error(n), r2(n) {}
  JudgeTile Tile() {
    return {.value = value.data(),
            .got32 = got.data(),
            .term32 = term.data(),
            .sigma32 = sigma.data(),
            .error32 = error.data(),
            .r2 = r2.data()};
  }
};

JudgeParams F32Params() {
  JudgeParams p;
  p.coefficient = 1e-6;
  p.u_acc = 0x1p-24;
  p.sigma_floor = 0.2 * 0x1p-24;
  p.lambda_out = 0x1p-150;
  p.overflow_at = p.special_at = 0x1.ffffffp127;
  p.max_finite = 0x1.fffffep127;
  p.ulp_scale = 0x1p-23;
  p.ulp_floor = 0x1p-149;
  p.ulp_ceiling = 0x1p104;
  p.round_scale = 0x1.8p52;
  p.own_rounding_ulps = 0.5;
  p.reach = ReachOf(FormatOf(DType::kF32), OutputRounding::kNearest, false);
  return p;
}

// Values of about one, errors of a few units of the last place.
TileData Random(size_t n, uint64_t seed) {
  TileData t(n);
  const RandomStream y(seed, 1), e(seed, 2), s(seed, 3);
  for (size_t i = 0; i < n; ++i) {
    t.value[i] = 3 * y.Normal(i);
    t.term[i] = static_cast<float>(std::fabs(t.value[i]) + std::fabs(8 * s.Normal(i)));
    t.sigma[i] = 0.7F * t.term[i];
    t.error[i] = 1e-12F * t.term[i];
    t.got[i] = static_cast<float>(t.value[i] + 1e-7 * static_cast<double>(t.term[i]) * e.Normal(i));
  }
  return t;
}

double BinadeOf(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & std::bit_cast<uint64_t>(kInf));
}

double OwnRounding(const RoundingReach& p, double got, double e) {
  if (got == 0) return p.zero;
  const bool inward = std::signbit(e) == std::signbit(got);
  const double size =
      inward ? std::nextafter(std::fabs(got), 0.0) : std::fabs(got);  // of the binade below a power of 2
  return std::max(BinadeOf(size) * p.scale, p.floor) * (inward ? p.inward : 1);
}

struct PlainResult {
  bool ordinary = true;
  JudgeLanes lanes;  // maxima of quotients and numbers of elements: in the first lane
  std::vector<float> r2;
};

void AddPlainly(const TileData& t, const JudgeParams& p, size_t i, PlainResult& to) {
  const double value = t.value[i], got = static_cast<double>(t.got[i]), term = static_cast<double>(t.term[i]);
  const double error = static_cast<double>(t.error[i]), y = std::fabs(value), e = got - value, abs = std::fabs(e);
  const double accumulated = (p.constant + error) + p.coefficient * term, reach = y + accumulated;
  const double allowed = accumulated * kJudgeSlack, left = abs - OwnRounding(p.reach, got, e);
  to.ordinary = to.ordinary && reach < p.special_at && std::isfinite(got) &&
                (p.exact || p.integer || !(left == 0 && allowed == 0));
  const double ulp = std::max(BinadeOf(y) * p.ulp_scale, p.ulp_floor);
  const double sampled = static_cast<double>(t.sigma[i]) * p.u_acc;
  const double sigma = std::max(sampled, p.sigma_floor * (term + y));
  const double shift = (p.shift + p.shift_of_value * y) + (p.shift_of_magnitude * term + p.shift_of_sigma * sigma);
  const double beyond = std::max(0.0, left - shift), sigma2 = sigma * sigma, variance = sigma2 + error * error;
  const double r2 = variance > 0 ? beyond / variance * beyond : 0;
  const double rounded = (value + ulp * p.round_scale) - ulp * p.round_scale;
  const size_t lane = i % kJudgeLanes;
  auto& [sum, max] = to.lanes;
  sum[kSumE2][lane] += e * e;
  sum[kSumY2][lane] += y * y;
  sum[kSumUlp2][lane] += ulp * ulp;
  sum[kSumSigma2][lane] += sigma2;
  sum[kSumR2][lane] += r2;
  sum[kSumBias][lane] += std::signbit(e) != std::signbit(value) ? -std::sqrt(r2) : std::sqrt(r2);
  sum[kZeros][0] += got == 0 ? 1 : 0;
  const bool inexact = p.integer ? e != 0 : got != rounded;
  sum[kInexact][0] += inexact;
  sum[kViolations][0] += p.exact ? inexact : left > allowed;
  const auto raise = [](double& x, double to_at_least) { x = std::max(x, to_at_least); };
  raise(max[kMaxAbs][lane], abs);
  raise(max[kMaxR2][lane], r2);
  raise(max[kMaxGot][0], got);
  raise(max[kMaxNegatedGot][0], -got);
  if (y > 0) raise(max[kMaxRel][0], abs / y);
  raise(max[kMaxUlp][0], abs / ulp);
  if (p.exact && inexact) raise(max[kMaxMargin][0], kInf);
  if (!p.exact && left > 0) raise(max[kMaxMargin][0], left / allowed);
  to.r2.push_back(static_cast<float>(r2));
}

double Largest(const std::array<double, kJudgeLanes>& lanes) {
  return *std::max_element(lanes.begin(), lanes.end());
}

double Total(const std::array<double, kJudgeLanes>& lanes) {
  double total = 0;
  for (const double x : lanes) total += x;
  return total;
}

void ExpectSameLanes(const JudgeLanes& got, const JudgeLanes& expected) {
  for (const int k : {kSumE2, kSumY2, kSumUlp2, kSumSigma2, kSumR2, kSumBias}) {
    for (size_t lane = 0; lane < kJudgeLanes; ++lane) {
      EXPECT_EQ(std::bit_cast<uint64_t>(got.sum[k][lane]), std::bit_cast<uint64_t>(expected.sum[k][lane]))
          << "sum " << k << " lane " << lane << ": " << got.sum[k][lane] << " " << expected.sum[k][lane];
    }
  }
  for (const int k : {kZeros, kViolations}) EXPECT_EQ(Total(got.sum[k]), Total(expected.sum[k])) << "number " << k;
  EXPECT_EQ(Total(got.sum[kInexact]) > 0, Total(expected.sum[kInexact]) > 0);
  for (int k = 0; k < kJudgeMaxima; ++k) EXPECT_EQ(Largest(got.max[k]), Largest(expected.max[k])) << "maximum " << k;
}

// Three tiles into the same lanes, as a chunk does; those that the kernel leaves to others count nowhere.
void ExpectPlain(TileData& t, const JudgeParams& p, const char* what) {
  SCOPED_TRACE(what);
  PlainResult plain;
  JudgeLanes lanes;
  for (int tile = 0; tile < 3; ++tile) {
    PlainResult next = plain;
    next.ordinary = true;
    next.r2.clear();
    for (size_t i = 0; i < t.value.size(); ++i) AddPlainly(t, p, i, next);
    const bool done = JudgeWhole(t.Tile(), p, static_cast<int64_t>(t.value.size()), lanes);
    ASSERT_EQ(done, next.ordinary);
    if (!done) continue;
    plain = next;
    // A value beyond f32 becomes an infinity or the largest number, depending on the instruction set.
    const auto held = [](float x) { return std::min(x, std::numeric_limits<float>::max()); };
    for (size_t i = 0; i < t.value.size(); ++i) ASSERT_EQ(held(t.r2[i]), held(plain.r2[i])) << i;
    ExpectSameLanes(lanes, plain.lanes);
    for (float& x : t.got) x = std::nextafter(x, 4.0F);  // another tile
  }
  ExpectSameLanes(lanes, plain.lanes);
}

void OnEveryTarget(const std::function<void()>& test) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(JudgeKernel, RandomTilesOfEverySize) {
  OnEveryTarget([] {
    for (size_t n = 8; n <= 136; n += 8) {
      TileData t = Random(n, n);
      ExpectPlain(t, F32Params(), "small");
    }
    TileData t = Random(512, 7);
    ExpectPlain(t, F32Params(), "whole");
  });
}

TEST(JudgeKernel, EveryModelOfTheBoundAndTheStatistic) {
  const std::vector<std::function<void(JudgeParams&)>> changes = {
      [](JudgeParams& p) { p.constant = 1e-7; },
      [](JudgeParams& p) { p.coefficient = 0; },
      [](JudgeParams& p) { p.coefficient = 1e-9; },  // violations
      [](JudgeParams& p) { p.coefficient = 0, p.reach = {}; },
      [](JudgeParams& p) { p.sigma_floor = 0; },
      [](JudgeParams& p) { p.u_acc = 0.37e-6; },
      [](JudgeParams& p) { p.shift = 1e-7; },
      [](JudgeParams& p) { p.shift_of_value = 1e-8; },
      [](JudgeParams& p) { p.shift_of_magnitude = 1e-8, p.shift_of_sigma = 0.1; },
      [](JudgeParams& p) { p.reach = ReachOf(FormatOf(DType::kF32), OutputRounding::kNearest, true); },
      [](JudgeParams& p) { p.reach = ReachOf(FormatOf(DType::kF32), OutputRounding::kTowardZero, false); },
      [](JudgeParams& p) { p.reach = ReachOf(FormatOf(DType::kF32), OutputRounding::kTowardZero, true); },
      [](JudgeParams& p) { p.reach = ReachOf(FormatOf(DType::kF32), OutputRounding::kAny, false); },
      [](JudgeParams& p) { p.reach.floor = p.reach.zero = 1e-3; },
      [](JudgeParams& p) { p.exact = true; },
      [](JudgeParams& p) { p.integer = true; },
      [](JudgeParams& p) { p.special_at = kInf; },
      [](JudgeParams& p) { p.special_at = 20; },
      [](JudgeParams& p) { p.special_at = 5; },
  };
  OnEveryTarget([&] {
    for (size_t k = 0; k < changes.size(); ++k) {
      JudgeParams p = F32Params();
      changes[k](p);
      TileData t = Random(512, 20 + k);
      ExpectPlain(t, p, ("model " + std::to_string(k)).c_str());
    }
  });
}

// One element, or every seventh, replaced by what a kernel may get wrong.
TEST(JudgeKernel, AdversarialElements) {
  const std::vector<std::function<void(TileData&, size_t)>> changes = {
      [](TileData& t, size_t i) { t.got[i] = static_cast<float>(kNaN); },
      [](TileData& t, size_t i) { t.got[i] = static_cast<float>(-kInf); },
      [](TileData& t, size_t i) { t.value[i] = kNaN; },
      [](TileData& t, size_t i) { t.value[i] = kInf; },
      [](TileData& t, size_t i) { t.value[i] = -kInf, t.got[i] = static_cast<float>(-kInf); },
      [](TileData& t, size_t i) { t.value[i] = 1e300; },
      [](TileData& t, size_t i) { t.value[i] = 3e38, t.got[i] = 3e38F; },
      [](TileData& t, size_t i) { t.value[i] = -1.8e38, t.got[i] = -1.8e38F; },
      [](TileData& t, size_t i) { t.term[i] = static_cast<float>(kInf); },
      [](TileData& t, size_t i) { t.term[i] = static_cast<float>(kNaN); },
      [](TileData& t, size_t i) { t.term[i] = 3e38F; },
      [](TileData& t, size_t i) { t.error[i] = static_cast<float>(kInf); },
      [](TileData& t, size_t i) { t.error[i] = static_cast<float>(kNaN); },
      [](TileData& t, size_t i) { t.error[i] = 0; },
      [](TileData& t, size_t i) { t.error[i] = 1e-45F; },
      [](TileData& t, size_t i) { t.sigma[i] = 1e30F; },
      [](TileData& t, size_t i) { t.sigma[i] = t.term[i] = t.error[i] = 0; },  // a bound of the output's rounding alone
      [](TileData& t, size_t i) { t.sigma[i] = t.term[i] = t.error[i] = 0, t.value[i] = 0, t.got[i] = 0; },
      [](TileData& t, size_t i) { t.sigma[i] = t.term[i] = t.error[i] = 0, t.value[i] = 0, t.got[i] = -1e-45F; },
      [](TileData& t, size_t i) { t.value[i] = 0; },
      [](TileData& t, size_t i) { t.value[i] = -0.0, t.got[i] = -0.0F; },
      [](TileData& t, size_t i) { t.got[i] = 0; },
      [](TileData& t, size_t i) { t.value[i] = 1e-60, t.got[i] = 0; },
      [](TileData& t, size_t i) { t.value[i] = 1e-320, t.got[i] = 1; },  // a relative error beyond all numbers
      [](TileData& t, size_t i) { t.value[i] = 1e-42, t.got[i] = 2e-42F; },
      [](TileData& t, size_t i) { t.value[i] = 0x1p-126, t.got[i] = 0x1.fffffcp-127F; },
      [](TileData& t, size_t i) { t.value[i] = 1, t.got[i] = 0x1.fffffep-1F; },
      [](TileData& t, size_t i) { t.value[i] = 1, t.got[i] = 2; },
      [](TileData& t, size_t i) { t.got[i] = static_cast<float>(t.value[i]); },
      [](TileData& t, size_t i) { t.value[i] = static_cast<double>(t.got[i]); },
      [](TileData& t, size_t i) { t.value[i] = 2, t.got[i] = 2.0001F, t.term[i] = 5; },
      [](TileData& t, size_t i) { t.value[i] = 2 + 0x1p-23, t.got[i] = 2, t.term[i] = t.error[i] = 0; },  // ties
      [](TileData& t, size_t i) { t.value[i] = -2 + 0x1p-25, t.got[i] = -2, t.term[i] = t.error[i] = 0; },
      [](TileData& t, size_t i) { t.value[i] = 2 - 0x1p-24, t.got[i] = 2; },  // beyond a quarter of the gap above
      [](TileData& t, size_t i) { t.value[i] = -2 - 0x1p-24, t.got[i] = -2; },
      [](TileData& t, size_t i) { t.value[i] = 3, t.got[i] = -2, t.term[i] = 1e7F; },
      [](TileData& t, size_t i) { t.value[i] = -1e-30, t.got[i] = 2e-30F; },
  };
  OnEveryTarget([&] {
    for (size_t k = 0; k < changes.size(); ++k) {
      for (const size_t step : {size_t{1}, size_t{7}, size_t{1000}}) {
        for (const size_t first : {size_t{0}, size_t{13}, size_t{36}, size_t{255}, size_t{511}}) {
          TileData t = Random(512, 100 + k);
          for (size_t i = first; i < 512; i += step) changes[k](t, i);
          ExpectPlain(t, F32Params(), ("change " + std::to_string(k) + " from " + std::to_string(first)).c_str());
        }
      }
    }
  });
}

// Sorted so that every element, or none after the first, has the largest error so far.
TEST(JudgeKernel, RisingAndFallingErrors) {
  OnEveryTarget([] {
    for (const double factor : {1.01, 0.99, 1 + 0x1p-49, 1 - 0x1p-52}) {
      TileData t(512);
      double y = 1e-7;
      for (size_t i = 0; i < 512; ++i, y *= factor) t.value[i] = 1 - y, t.got[i] = 1, t.term[i] = t.sigma[i] = 2;
      ExpectPlain(t, F32Params(), "ramp");
      // Against the same bound, so that the quotients differ by the factor alone.
      JudgeParams p = F32Params();
      p.reach = {};
      y = 1.1e-7;
      for (size_t i = 0; i < 512; ++i, y *= factor) t.value[i] = -y, t.got[i] = 0, t.term[i] = t.sigma[i] = 2;
      ExpectPlain(t, p, "ramp against one bound");
    }
  });
}

// Bits of every sort in all planes at once, signs of bounds apart.
TEST(JudgeKernel, ArbitraryBits) {
  OnEveryTarget([] {
    for (uint64_t seed = 1; seed < 200; ++seed) {
      TileData t = Random(64, seed);
      const RandomStream random(seed, 9);
      const int width = static_cast<int>(seed % 60) * 4 + 2;  // of the exponents
      const auto scale = [&](uint64_t k) {
        return std::ldexp(1.0, static_cast<int>(random.Below(k, static_cast<uint64_t>(width))) - width / 2);
      };
      for (size_t i = 0; i < 64; ++i) {
        t.value[i] *= scale(5 * i);
        t.got[i] = static_cast<float>(t.value[i] * (1 + 1e-7 * scale(5 * i + 1)));
        t.term[i] = static_cast<float>(static_cast<double>(t.term[i]) * scale(5 * i + 2));
        t.sigma[i] = static_cast<float>(static_cast<double>(t.sigma[i]) * scale(5 * i + 3));
        t.error[i] = static_cast<float>(static_cast<double>(t.error[i]) * scale(5 * i + 4));
      }
      ExpectPlain(t, F32Params(), ("seed " + std::to_string(seed)).c_str());
    }
  });
}

}  // namespace
}  // namespace assay
