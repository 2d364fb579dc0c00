// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/change_point.h"

#include <algorithm>
#include <cmath>

#include "reports/compare/compare_times.h"
#include "reports/compare/rank_sum.h"

namespace assay {
namespace {

// Values of a series in which no change is known yet.
struct Stretch {
  size_t series = 0, begin = 0;
  std::vector<double> logs;
};

// The likeliest place of a change in one direction.
struct Place {
  double p = 1;
  size_t at = 0;
};

struct BothPlaces {
  Place slower, faster;
};

BothPlaces FindPlaces(const Stretch& stretch) {
  BothPlaces found;
  const std::span<const double> all = stretch.logs;
  const auto places = static_cast<double>(all.size()) - 1;
  const auto consider = [&](Place& place, double p, size_t at) {
    if (p * places < place.p) place = {p * places, at};
  };
  for (size_t at = 1; at < all.size(); ++at) {
    const RankSumTest test = MannWhitney(all.first(at), all.subspan(at));
    consider(found.slower, test.p_greater, at);
    consider(found.faster, test.p_less, at);
  }
  return found;
}

TimeComparison Estimate(const Stretch& stretch, size_t at, const BothPlaces& places) {
  const std::span<const double> all = stretch.logs;
  const ShiftEstimate shift = EstimateShift(all.first(at), all.subspan(at), 0.9);
  TimeComparison time;
  time.ratio = std::exp(shift.shift), time.low = std::exp(shift.low), time.high = std::exp(shift.high);
  time.bounded = shift.bounded;
  time.p_slower = places.slower.p, time.p_faster = places.faster.p;
  time.base_rounds = at, time.new_rounds = all.size() - at;
  return time;
}

// Tests all stretches together, and replaces them by the parts of those in which a change was found.
std::vector<ChangePoint> FindNextChanges(std::vector<Stretch>& stretches, double minimum_effect) {
  std::vector<BothPlaces> places;
  std::vector<double> p_slower, p_faster;
  for (const Stretch& stretch : stretches) {
    places.push_back(FindPlaces(stretch));
    p_slower.push_back(places.back().slower.p);
    p_faster.push_back(places.back().faster.p);
  }
  const std::vector<bool> slower = BenjaminiHochberg(p_slower, kFalseAlarmRate);
  const std::vector<bool> faster = BenjaminiHochberg(p_faster, kFalseAlarmRate);
  std::vector<ChangePoint> found;
  std::vector<Stretch> parts;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (!slower[i] && !faster[i]) continue;
    const bool is_slower = slower[i] && p_slower[i] <= p_faster[i];
    const Stretch& whole = stretches[i];
    const size_t at = is_slower ? places[i].slower.at : places[i].faster.at;
    TimeComparison time = Estimate(whole, at, places[i]);
    time.verdict = is_slower ? TimeVerdict::kSlower : TimeVerdict::kFaster;
    if (std::abs(std::log(time.ratio)) >= std::log1p(minimum_effect)) {
      found.push_back({whole.series, whole.begin + at, time});
    }
    const auto middle = whole.logs.begin() + static_cast<std::ptrdiff_t>(at);
    parts.push_back({whole.series, whole.begin, {whole.logs.begin(), middle}});
    parts.push_back({whole.series, whole.begin + at, {middle, whole.logs.end()}});
  }
  stretches = std::move(parts);
  return found;
}

}  // namespace

std::vector<ChangePoint> FindChangePoints(std::span<const std::vector<double>> series, double minimum_effect) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < series.size(); ++i) {
    Stretch& stretch = stretches.emplace_back(Stretch{i, 0, {}});
    for (const double seconds : series[i]) stretch.logs.push_back(std::log(seconds));
  }
  std::vector<ChangePoint> all;
  while (!stretches.empty()) {
    const std::vector<ChangePoint> found = FindNextChanges(stretches, minimum_effect);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

size_t CountRunsNeeded(size_t series) {
  const auto smallest = [](size_t runs) {
    return static_cast<double>(runs - 1) * SmallestRankSumP(runs / 2, runs - runs / 2);
  };
  size_t runs = 2;
  while (static_cast<double>(series) * smallest(runs) > kFalseAlarmRate) ++runs;
  return runs;
}

}  // namespace assay
