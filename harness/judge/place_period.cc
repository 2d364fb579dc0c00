// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/place_period.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kMostPeriod = 1024;
constexpr double kMostChance = 1e-3;

// The shortest stretch of residues, round the end, that has all coordinates; nothing if it is more than half of them.
std::optional<PlacePeriod> FitPeriod(std::span<const int64_t> coordinates, int64_t period, std::vector<bool>& seen) {
  seen.assign(static_cast<size_t>(period), false);
  int64_t residues = 0;
  for (const int64_t at : coordinates) {
    auto place = seen[static_cast<size_t>(at % period)];
    residues += place ? 0 : 1;
    place = true;
    if (2 * residues > period) return std::nullopt;
  }
  int64_t gap = 0, longest = 0, end = 0;  // of residues that are not seen, twice round
  for (int64_t k = 0; k < 2 * period; ++k) {
    gap = seen[static_cast<size_t>(k % period)] ? 0 : gap + 1;
    if (gap > longest) longest = gap, end = k + 1;
  }
  return PlacePeriod{end % period, period - longest, period};
}

// Whether most periods between the first and the last coordinate have one, or as many as in a sample of that share.
bool IsRepeated(std::span<const int64_t> coordinates, const PlacePeriod& fit, double share) {
  int64_t periods = 0, last = -1;
  for (const int64_t at : coordinates) {
    const int64_t number = (at + fit.period - fit.first) / fit.period;
    periods += number == last ? 0 : 1;
    last = number;
  }
  const int64_t all = (coordinates.back() - coordinates.front()) / fit.period + 1;
  return periods >= 3 && 2 * static_cast<double>(periods) >= share * static_cast<double>(all);
}

}  // namespace

std::optional<PlacePeriod> FindPeriod(std::span<const int64_t> coordinates, int64_t size, double share) {
  if (coordinates.size() < 3) return std::nullopt;
  const auto count = static_cast<double>(coordinates.size());
  const int64_t most = std::min(kMostPeriod, size / 3);
  double best = std::log(kMostChance);
  std::optional<PlacePeriod> found;
  std::vector<bool> seen;
  for (int64_t period = 2; period <= most; ++period) {
    const auto fit = FitPeriod(coordinates, period, seen);
    if (!fit || 2 * fit->width > period) continue;
    const double part = static_cast<double>(fit->width) / static_cast<double>(period);
    const double chance = std::log(count * static_cast<double>(most)) + (count - 1) * std::log(part);
    if (chance < best && IsRepeated(coordinates, *fit, share)) best = chance, found = fit;
  }
  return found;
}

}  // namespace assay
