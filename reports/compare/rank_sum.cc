// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace assay {
namespace {

constexpr size_t kMostExact = 40;

// Twice the midranks of the values, so that they are integers, in the order of the values.
struct DoubledRanks {
  std::vector<size_t> ranks;
  double tie_term = 0;  // sum of t^3 - t over groups of t equal values
};

DoubledRanks RankTwice(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
  DoubledRanks out{std::vector<size_t>(values.size()), 0};
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) out.ranks[order[i]] = first + 1 + end;  // (first + 1) + (end), 1-based
    const auto ties = static_cast<double>(end - first);
    out.tie_term += ties * ties * ties - ties;
    first = end;
  }
  return out;
}

// ways[s]: in how many ways m of the ranks add up to s. Exact in double: C(40, 20) is below 2^53.
std::vector<double> CountSums(const std::vector<size_t>& ranks, size_t m) {
  const size_t most = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  size_t reached = 0;
  for (const size_t rank : ranks) {
    reached += rank;
    for (size_t k = m; k > 0; --k) {
      for (size_t s = reached; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  return std::move(ways[m]);
}

// CountSums for doubled ranks without ties, the usual case; computed once per thread and size.
const std::vector<double>& CountSumsWithoutTies(size_t total, size_t m) {
  thread_local std::map<std::pair<size_t, size_t>, std::vector<double>> known;
  const auto [it, inserted] = known.try_emplace({total, m});
  if (inserted) {
    std::vector<size_t> ranks(total);
    for (size_t i = 0; i < total; ++i) ranks[i] = 2 * (i + 1);
    it->second = CountSums(ranks, m);
  }
  return it->second;
}

double UpperTail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

// The largest c with P(u < c) <= tail where there are no ties; 0 where even c = 1 has more.
size_t LowerRank(size_t n, size_t m, double tail) {
  if (n + m > kMostExact) {
    const auto pairs = static_cast<double>(n * m);
    const double deviation = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    double low = 0, high = 10;  // the quantile of the normal distribution by bisection
    for (int i = 0; i < 60; ++i) (UpperTail((low + high) / 2) > tail ? low : high) = (low + high) / 2;
    return static_cast<size_t>(std::max(0.0, std::floor(pairs / 2 - high * deviation)));
  }
  const std::vector<double>& ways = CountSumsWithoutTies(n + m, m);
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  double below = 0;
  size_t c = 0;
  for (size_t s = m * (m + 1); s < ways.size(); s += 2) {  // u = s / 2 - m (m + 1) / 2
    below += ways[s];
    if (below / all > tail * (1 + 1e-9)) break;  // 1 - 0.9 is a little less than 0.1
    ++c;
  }
  return c;
}

}  // namespace

RankSumTest MannWhitney(std::span<const double> a, std::span<const double> b) {
  const size_t n = a.size(), m = b.size();
  std::vector<double> values(b.begin(), b.end());
  values.insert(values.end(), a.begin(), a.end());
  const DoubledRanks ranked = RankTwice(values);
  const size_t sum =
      std::accumulate(ranked.ranks.begin(), ranked.ranks.begin() + static_cast<std::ptrdiff_t>(m), size_t{0});
  RankSumTest test;
  test.u = (static_cast<double>(sum) - static_cast<double>(m * (m + 1))) / 2;
  if (n + m <= kMostExact) {
    const std::vector<double> dealt = ranked.tie_term > 0 ? CountSums(ranked.ranks, m) : std::vector<double>();
    const std::vector<double>& ways = ranked.tie_term > 0 ? dealt : CountSumsWithoutTies(n + m, m);
    const auto at = ways.begin() + static_cast<std::ptrdiff_t>(sum);
    const double below = std::accumulate(ways.begin(), at, 0.0), above = std::accumulate(at + 1, ways.end(), 0.0);
    const double all = below + *at + above;
    test.p_greater = (above + *at) / all;
    test.p_less = (below + *at) / all;
    return test;
  }
  const auto pairs = static_cast<double>(n * m), total = static_cast<double>(n + m);
  const double variance = pairs / 12 * (total + 1 - ranked.tie_term / (total * (total - 1)));
  if (variance <= 0) return test;  // all are equal
  const double deviation = std::sqrt(variance);
  test.p_greater = UpperTail((test.u - pairs / 2 - 0.5) / deviation);
  test.p_less = UpperTail((pairs / 2 - test.u - 0.5) / deviation);
  return test;
}

double SmallestRankSumP(size_t n, size_t m) {
  double ways = 1;
  for (size_t i = 1; i <= m; ++i) ways *= static_cast<double>(n + i) / static_cast<double>(i);
  return 1 / ways;
}

ShiftEstimate EstimateShift(std::span<const double> a, std::span<const double> b, double confidence) {
  std::vector<double> differences;
  for (const double y : b) {
    for (const double x : a) differences.push_back(y - x);
  }
  std::sort(differences.begin(), differences.end());
  const size_t count = differences.size();
  const double middle = (differences[(count - 1) / 2] + differences[count / 2]) / 2;
  const size_t c = LowerRank(a.size(), b.size(), (1 - confidence) / 2);
  if (c == 0) return {middle, middle, middle, false};
  return {middle, differences[c - 1], differences[count - c], true};
}

std::vector<bool> BenjaminiHochberg(std::span<const double> p, double rate) {
  std::vector<double> sorted(p.begin(), p.end());
  std::sort(sorted.begin(), sorted.end());
  double threshold = -1;
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] <= rate * static_cast<double>(k + 1) / static_cast<double>(sorted.size())) threshold = sorted[k];
  }
  std::vector<bool> rejected;
  for (const double value : p) rejected.push_back(value <= threshold);
  return rejected;
}

std::vector<bool> Holm(std::span<const double> p, double rate) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<bool> rejected(p.size(), false);
  for (size_t k = 0; k < order.size() && p[order[k]] * static_cast<double>(p.size() - k) <= rate; ++k) {
    rejected[order[k]] = true;
  }
  return rejected;
}

}  // namespace assay
