// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/granularity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/judge/kernel/tile_reader.h"

namespace assay {
namespace {

constexpr int kLeastGap = 2, kMostGap = 5;  // b - s
constexpr int kMostTests = 4 * 52;          // of them, with every b of f64
constexpr double kLeastShare = 0.75;
constexpr int64_t kManyResults = 64;  // three quarters of them do not come by chance

struct Ending {
  double value;             // |golden value|
  int zeros, golden_zeros;  // of the result, and of the golden value as its type holds it
  int above;                // by how many binary digits S is larger
};

// Zero bits at the end of x in units of `ulp`, a power of two. Precondition: x is a multiple of it, less than 2^53
// times, and not 0.
int ZerosOf(double x, double ulp) {
  return std::countr_zero(static_cast<uint64_t>(std::fabs(x) / ulp));
}

class Endings {
 public:
  Endings(const ElementJudge& judge, const Tensor& got) : judge_(judge), reader_(judge, got) {
    const int64_t size = judge.golden().size(), count = std::min(size, kMostGranularityResults);
    for (int64_t k = 0; k < count; ++k) Add(k * size / count);
    std::sort(endings_.begin(), endings_.end(), [](const Ending& a, const Ending& b) { return a.value < b.value; });
    const auto same = [](const Ending& a, const Ending& b) { return a.value == b.value; };
    endings_.erase(std::unique(endings_.begin(), endings_.end(), same), endings_.end());
  }
  const std::vector<Ending>& all() const { return endings_; }

 private:
  void Add(int64_t i) {
    const FloatFormat& format = FormatOf(judge_.dtype());
    const double least = std::ldexp(1, format.min_exponent);
    reader_.Read(i, 1);
    const double got = reader_.Got(0), y = judge_.golden().value[static_cast<size_t>(i)];
    const double rounded = std::isfinite(y) ? judge_.Rounded(i) : y;
    // Subnormal results have other last bits.
    const auto tells = [&](double x) { return std::isfinite(x) && std::fabs(x) >= least; };
    if (!tells(got) || !tells(rounded) || judge_.Open(i)) return;
    const double magnitude = PlaneAt(judge_.golden().magnitude, i, judge_.golden().size()) * (1 + 0x1p-10);
    const int above = std::max(0, std::ilogb(std::max(magnitude, std::fabs(got))) - std::ilogb(got));
    endings_.push_back(
        {std::fabs(y), ZerosOf(got, UlpAt(format, got)), ZerosOf(rounded, UlpAt(format, rounded)), above});
  }

  const ElementJudge& judge_;
  TileReader reader_;
  std::vector<Ending> endings_;
};

// The results that tell of b zeros with a gap b - s, and those of them that end so, for every b of any format.
struct Tellers {
  static constexpr int kMostZeros = 64;
  std::array<int64_t, kMostZeros + 1> results{}, so_many{};  // by b

  Tellers(const std::vector<Ending>& endings, int gap) {
    for (const Ending& one : endings) {
      // It tells of each b from here on, and ends in as many zeros up to its own.
      const int first = std::min(std::max(one.golden_zeros + 1, one.above + gap), kMostZeros);
      ++results[static_cast<size_t>(first)];
      if (one.zeros < first) continue;
      ++so_many[static_cast<size_t>(first)];
      --so_many[static_cast<size_t>(std::min(one.zeros + 1, kMostZeros))];
    }
    std::partial_sum(results.begin(), results.end(), results.begin());
    std::partial_sum(so_many.begin(), so_many.end(), so_many.begin());
  }
};

// log Gamma(x) for x > 0. std::lgamma is not thread-safe: it writes the sign into a global variable.
double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// P(X >= events) of a binomial distribution.
double UpperTail(int64_t events, int64_t trials, double rate) {
  double sum = 0;
  const auto n = static_cast<double>(trials);
  for (int64_t k = events; k <= trials; ++k) {
    const auto x = static_cast<double>(k);
    sum += std::exp(LogGamma(n + 1) - LogGamma(x + 1) - LogGamma(n - x + 1) + x * std::log(rate) +
                    (n - x) * std::log1p(-rate));
  }
  return sum;
}

}  // namespace

std::string Granularity::Text() const {
  return fmt::format(
      "{} of {} results whose golden values do not end in {} zero bits do, as if they had so many bits less", so_many,
      results, zeros);
}

int64_t MostCoarseResults(int64_t results, double chance) {
  auto most = static_cast<int64_t>(std::ceil(kLeastShare * static_cast<double>(results)));
  if (results >= kManyResults) return most;
  while (most < results && UpperTail(most + 1, results, chance) > kGranularityDelta / kMostTests) ++most;
  return most;
}

Granularity MeasureGranularity(const ElementJudge& judge, const Tensor& got) {
  const int precision = FormatOf(judge.dtype()).precision;
  Granularity worst;
  // A narrower accumulator than the output leaves zeros.
  if (judge.params().u_acc > std::ldexp(1, -precision)) return worst;
  const Endings endings(judge, got);
  std::vector<Tellers> tellers;  // by the gap
  for (int gap = kLeastGap; gap <= kMostGap; ++gap) tellers.emplace_back(endings.all(), gap);
  for (int zeros = kLeastGap; zeros < precision - 1; ++zeros) {
    for (int gap = kLeastGap; gap <= std::min(kMostGap, zeros); ++gap) {
      const Tellers& told = tellers[static_cast<size_t>(gap - kLeastGap)];
      const int64_t results = told.results[static_cast<size_t>(zeros)],
                    so_many = told.so_many[static_cast<size_t>(zeros)];
      const int64_t most = MostCoarseResults(results, std::ldexp(1, -gap));
      if (most >= results) continue;
      const double margin = static_cast<double>(so_many) / static_cast<double>(most);
      // Among failing counts the largest number of zeros says how many bits are missing.
      if (worst.results == 0 || margin > worst.margin || (margin > 1 && zeros > worst.zeros))
        worst = {margin, zeros, results, so_many};
    }
  }
  return worst;
}

}  // namespace assay
