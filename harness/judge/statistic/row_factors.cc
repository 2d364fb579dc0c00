// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/row_factors.h"

#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "harness/core/base/parallel.h"
#include "harness/core/data/tensor.h"
#include "harness/judge/kernel/tile_reader.h"
#include "harness/judge/statistic/scan.h"

namespace assay {
namespace {

// Products of two roundings move many short rows a little: 54 of 100 in 4,096 rows of 64 elements.
constexpr double kLeastRowShare = 2.0 / 3;

bool MayBeChance(int64_t most, int64_t of, double chance) {
  return most <= BinomialUpperQuantile(of, 0.5, chance / 2);
}

}  // namespace

bool Signs::Lean(double chance) const {
  return !MayBeChance(Most(), Count(), chance);
}

Signs SignsOf(std::span<const double> values) {
  Signs signs;
  for (const double x : values) signs.Add(x);
  return signs;
}

double MeanOf(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

bool RowsLean(const Signs& signs, int64_t rows) {
  return static_cast<double>(signs.Most()) >= kLeastRowShare * static_cast<double>(rows) &&
         !MayBeChance(signs.Most(), rows, kRowLeanChance);
}

RowExcess MeanExcess(std::span<const double> factors, std::span<const double> permitted) {
  std::array<RowExcess, 2> sums;
  std::array<int64_t, 2> rows{};
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!(std::fabs(factors[i]) > permitted[i])) continue;
    const size_t side = factors[i] > 0 ? 1 : 0;
    sums[side].factor += factors[i], sums[side].permitted += permitted[i], ++rows[side];
  }
  const size_t side = rows[1] > rows[0] ? 1 : 0;
  const auto count = static_cast<double>(std::max<int64_t>(1, rows[side]));
  return {sums[side].factor / count, sums[side].permitted / count};
}

template <class Term>
double Rows::RelativeSum(int64_t row, const Term& term) const {
  double sum = 0, squares = 0;
  for (int64_t i = row * length_; i < (row + 1) * length_; ++i) {
    const double y = value_[static_cast<size_t>(i)], part = term(y, i);
    if (!std::isfinite(part) || judge_.Open(i)) continue;
    sum += part, squares += y * y;
  }
  return squares > 0 && std::isfinite(sum / squares) ? sum / squares : 0;
}

template <class Term>
std::vector<double> Rows::RelativeSums(const Term& term) const {
  std::vector<double> sums;
  for (int64_t row = 0; row < count_; ++row) sums.push_back(RelativeSum(row, term));
  return KeepFirst(sums);
}

std::vector<double> Rows::CommonFactors(const Tensor& got) const {
  const std::vector<double>& low = judge_.golden().value_lo;
  std::vector<double> factors(static_cast<size_t>(count_), 0);
  ParallelFor(count_, std::max<int64_t>(1, (int64_t{1} << 14) / length_), [&](int64_t begin, int64_t end) {
    TileReader reader(judge_, got);
    for (int64_t row = begin; row < end; ++row) {
      factors[static_cast<size_t>(row)] = RelativeSum(row, [&](double y, int64_t i) {
        const int64_t at = i - row * length_;
        if (at % kJudgeTile == 0) reader.Read(i, std::min(kJudgeTile, length_ - at));
        return ((reader.Got(at % kJudgeTile) - y) - (low.empty() ? 0 : low[static_cast<size_t>(i)])) * y;
      });
    }
  });
  return KeepFirst(factors);
}

std::vector<double> Rows::CommonFactors(const std::function<double(int64_t)>& result) const {
  return RelativeSums([&](double y, int64_t i) { return (result(i) - y) * y; });
}

std::vector<double> Rows::LargestFactors(const std::function<double(int64_t)>& error) const {
  std::vector<double> sums;
  for (int64_t row = 0; row < count_; ++row) {
    bool is_bounded = true;
    sums.push_back(RelativeSum(row, [&](double y, int64_t i) {
      const double most = error(i);
      is_bounded = is_bounded && (std::isfinite(most) || judge_.Open(i) || !std::isfinite(y));
      return most * std::fabs(y);
    }));
    if (!is_bounded) sums.back() = std::numeric_limits<double>::infinity();
  }
  return KeepFirst(sums);
}

std::vector<double> Rows::RelativeSquares(const std::function<double(int64_t)>& error) const {
  return RelativeSums([&](double, int64_t i) { return error(i) * error(i); });
}

std::vector<double> Rows::KeepFirst(const std::vector<double>& numbers) const {
  std::unordered_set<uint64_t> seen;
  std::vector<double> kept;
  for (int64_t row = 0; row < count_; ++row) {
    const double* values = value_.data() + row * length_;
    if (!seen.insert(HashBytes(values, static_cast<size_t>(length_) * sizeof(double))).second) continue;
    kept.push_back(numbers[static_cast<size_t>(row)]);
  }
  return kept;
}

}  // namespace assay
