// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/hypotheses/recognisers.h"

namespace assay {
namespace {

constexpr double kMostLikelihood = 16;  // log of the ratio, which chance exceeds 2 times in 10^8
constexpr double kLeastRatio = 4;
constexpr double kLeastSure = 0.01, kMostSure = 0.95;  // what the deviations say of a share is not sure beyond
constexpr double kDeclaredDeviations = 3;              // that no result of the declared arithmetic usually exceeds

// Results, how many of them are off, and how many were to be expected, up to a common factor.
struct Count {
  double results = 0, off = 0, expected = 0;
  Count& operator+=(const Count& other) {
    results += other.results, off += other.off, expected += other.expected;
    return *this;
  }
  // Log of the likelihood ratio of these counts: by their own share of results that are off, over `share`.
  double Gain(double share) const {
    const double kept = results - off, other = std::clamp(share, kLeastSure, kMostSure);
    const auto part = [&](double count, double of) { return count > 0 ? count * std::log(count / results / of) : 0; };
    return part(off, other) + part(kept, 1 - other);
  }
};

// Whether the rate within differs from the rate outside; the counts are independent.
bool Differs(const Count& within, const Count& all) {
  const Count rest{all.results - within.results, all.off - within.off, all.expected - within.expected};
  if (!(within.expected > 0) || !(rest.expected > 0)) return false;
  const double high = std::max(within.off / within.expected, rest.off / rest.expected);
  const double low = std::min(within.off / within.expected, rest.off / rest.expected);
  const auto gain = [rate = all.off / all.expected](const Count& c) { return c.Gain(rate * c.expected / c.results); };
  return high >= kLeastRatio * low && gain(within) + gain(rest) > kMostLikelihood;
}

bool DiffersAlong(const std::vector<Count>& at, const Count& all) {
  Count before;
  for (const Count& one : at) {
    before += one;
    if (Differs(one, all) || Differs(before, all)) return true;
  }
  for (size_t step = 2; step <= 64 && step < at.size(); step *= 2) {
    for (size_t first = 0; first < step; ++first) {
      Count lane;
      for (size_t k = first; k < at.size(); k += step) lane += at[k];
      if (Differs(lane, all)) return true;
    }
  }
  return false;
}

}  // namespace

bool HasConfinedErrors(const ElementJudge& declared, const ElementJudge& by_class, const Tensor& got) {
  const std::vector<double> values = got.ToDoubles();
  const FloatFormat& out = FormatOf(got.dtype());
  std::vector<Count> counts(values.size());
  Count all;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const Judgement judged = declared.Judge(i, values[i]);
    const double sigma = by_class.Sigma(i);
    if (!judged.finite || !(sigma > 0)) continue;
    const double spacing = UlpAt(out, std::max(std::fabs(values[i]), std::fabs(declared.golden().value[i])));
    const double permitted = judged.rounding + declared.Systematic(i) + kDeclaredDeviations * declared.Sigma(i);
    counts[i] = {1, std::fabs(judged.error) > permitted ? 1.0 : 0.0, sigma / (sigma + spacing + permitted)};
    all += counts[i];
  }
  if (all.off > kMostSure * all.results) return false;  // they are off everywhere
  const Shape &shape = got.shape(), strides = RowMajorStrides(shape);
  const auto differs_over = [&](int64_t places, const auto& place_of) {
    std::vector<Count> at(static_cast<size_t>(places));
    for (int64_t i = 0; i < std::ssize(counts); ++i) at[place_of(i)] += counts[i];
    return std::ranges::any_of(at, [&](const Count& one) { return Differs(one, all); });
  };
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<Count> at(static_cast<size_t>(shape[axis]));
    for (int64_t i = 0; i < std::ssize(counts); ++i) at[i / strides[axis] % shape[axis]] += counts[i];
    if (DiffersAlong(at, all)) return true;
  }
  if (shape.size() < 2) return false;
  const int64_t columns = shape.back(), rows = std::ssize(counts) / columns;
  for (const int64_t tile : {16, 64}) {
    const int64_t across = (columns + tile - 1) / tile, down = (rows + tile - 1) / tile;
    if (differs_over(across * down, [&](int64_t i) { return i / columns / tile * across + i % columns / tile; }))
      return true;
  }
  return false;
}

}  // namespace assay
