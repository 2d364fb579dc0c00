// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace assay {
namespace {

constexpr size_t kMostExactPairs = 60;
constexpr int kBisections = 45;

// Twice the Winsorised midrank of each |value|, so that they are integers; 0 for a value of 0, which has no sign.
std::vector<size_t> ScoresOf(std::span<const double> values) {
  const size_t n = values.size();
  std::vector<size_t> order(n), scores(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return std::abs(values[i]) < std::abs(values[j]); });
  for (size_t first = 0; first < n;) {
    size_t end = first + 1;
    while (end < n && std::abs(values[order[end]]) == std::abs(values[order[first]])) ++end;
    for (size_t i = first; i < end; ++i) {
      scores[order[i]] = values[order[i]] == 0 ? 0 : std::min(first + 1 + end, n + 1);  // n + 1: twice the middle rank
    }
    first = end;
  }
  return scores;
}

size_t SumOfPositive(std::span<const double> values, const std::vector<size_t>& scores) {
  size_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] > 0 ? scores[i] : 0;
  return sum;
}

// chance[s]: that the scores which get a plus add up to s.
std::vector<double> ChanceOfSums(const std::vector<size_t>& scores) {
  std::vector<double> chance(std::accumulate(scores.begin(), scores.end(), size_t{1}), 0.0);
  chance[0] = 1;
  size_t reached = 0;
  for (const size_t score : scores) {
    if (score == 0) continue;
    reached += score;
    for (size_t s = reached + 1; s-- > 0;) chance[s] = (chance[s] + (s >= score ? chance[s - score] : 0)) / 2;
  }
  return chance;
}

double NormalTail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

double DeviationOf(const std::vector<size_t>& scores) {
  double squares = 0;
  for (const size_t score : scores) squares += static_cast<double>(score) * static_cast<double>(score);
  return std::sqrt(squares) / 2;
}

// Scores of n values without ties.
std::vector<size_t> ScoresWithoutTies(size_t n) {
  std::vector<size_t> scores(n);
  for (size_t i = 0; i < n; ++i) scores[i] = std::min(2 * (i + 1), n + 1);
  return scores;
}

// The smallest sum that is reached with a chance of at most `tail`; above the total where none is.
size_t CriticalSum(size_t n, double tail) {
  const std::vector<size_t> scores = ScoresWithoutTies(n);
  const size_t total = std::accumulate(scores.begin(), scores.end(), size_t{0});
  if (n > kMostExactPairs) {
    double low = 0, high = 10;  // the quantile of the normal distribution
    for (int i = 0; i < kBisections; ++i) (NormalTail((low + high) / 2) > tail ? low : high) = (low + high) / 2;
    return static_cast<size_t>(std::ceil(static_cast<double>(total) / 2 + high * DeviationOf(scores)));
  }
  const std::vector<double> chance = ChanceOfSums(scores);
  double above = 0;
  size_t critical = total + 1;
  while (critical > 0 && above + chance[critical - 1] <= tail * (1 + 1e-9)) above += chance[--critical];
  return critical;
}

// How far the centre may go up with a positive sum, doubled, of at least `twice`. The sum only falls on the way.
double HighestCentre(std::span<const double> values, size_t twice) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  double low = *least, high = *most;
  std::vector<double> shifted(values.size());
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    for (size_t k = 0; k < values.size(); ++k) shifted[k] = values[k] - middle;
    (2 * SumOfPositive(shifted, ScoresOf(shifted)) >= twice ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

double LowestCentre(std::span<const double> values, size_t twice) {
  std::vector<double> mirrored(values.begin(), values.end());
  for (double& v : mirrored) v = -v;
  return -HighestCentre(mirrored, twice);
}

}  // namespace

SignedRankTest SignedRanks(std::span<const double> differences) {
  const std::vector<size_t> scores = ScoresOf(differences);
  const size_t sum = SumOfPositive(differences, scores);
  if (differences.size() <= kMostExactPairs) {
    const std::vector<double> chance = ChanceOfSums(scores);
    const auto at = chance.begin() + static_cast<std::ptrdiff_t>(sum);
    const double below = std::accumulate(chance.begin(), at, 0.0);
    const double above = std::accumulate(chance.rbegin(), std::make_reverse_iterator(at + 1), 0.0);
    return {above + *at, below + *at};
  }
  const double deviation = DeviationOf(scores);
  if (deviation <= 0) return {};  // all are zero
  const double total = static_cast<double>(std::accumulate(scores.begin(), scores.end(), size_t{0}));
  const double above_middle = static_cast<double>(sum) - total / 2;
  return {NormalTail((above_middle - 0.5) / deviation), NormalTail((-above_middle - 0.5) / deviation)};
}

double SmallestSignedRankP(size_t n) {
  return std::ldexp(1.0, -static_cast<int>(n));
}

ShiftEstimate EstimateCentre(std::span<const double> differences, double confidence) {
  const std::vector<size_t> scores = ScoresWithoutTies(differences.size());
  const size_t total = std::accumulate(scores.begin(), scores.end(), size_t{0});
  const double centre = (HighestCentre(differences, total) + LowestCentre(differences, total)) / 2;
  const size_t critical = CriticalSum(differences.size(), (1 - confidence) / 2);
  if (critical > total) return {centre, centre, centre, false};
  return {centre, HighestCentre(differences, 2 * critical), LowestCentre(differences, 2 * critical), true};
}

}  // namespace assay
