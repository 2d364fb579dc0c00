// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/row_lean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include "harness/core/base/parallel.h"
#include "harness/judge/kernel/tile_reader.h"
#include "harness/judge/statistic/scan.h"

namespace assay {
namespace {

// Chance by which what is stored may seem to err to one side: that only silences the finding.
constexpr double kStoredLeanChance = 1e-4;
// Rows that store fewer different numbers are too much alike for the roundings of these, or of their square roots, to
// be independent: 6 in 100 rows are a standard deviation of 1.2 spacings.
constexpr size_t kFewestStored = 6;
// Products of two roundings move many short rows a little: 54 of 100 in 4,096 rows of 64 elements.
constexpr double kLeastRowShare = 2.0 / 3;

struct Signs {
  int64_t positive = 0, negative = 0;
  void Add(double x) { positive += x > 0 ? 1 : 0, negative += x < 0 ? 1 : 0; }
  int64_t Count() const { return positive + negative; }
  int64_t Most() const { return std::max(positive, negative); }
  bool Lean(double chance) const { return Most() > BinomialUpperQuantile(Count(), 0.5, chance / 2); }
};

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

// Equal parts of the output, one behind the other.
class Rows {
 public:
  Rows(const ElementJudge& judge, int64_t count)
      : judge_(judge), count_(count), length_(judge.golden().size() / count), value_(judge.golden().value) {}

  // c of each row that has one and whose golden values no row before has.
  std::vector<double> CommonFactors(const Tensor& got) const {
    std::vector<double> factors(static_cast<size_t>(count_), 0);
    ParallelFor(count_, std::max<int64_t>(1, (int64_t{1} << 14) / length_), [&](int64_t begin, int64_t end) {
      TileReader reader(judge_, got);
      for (int64_t row = begin; row < end; ++row) {
        factors[static_cast<size_t>(row)] = CommonFactor(row, [&](int64_t i) {
          const int64_t at = i - row * length_;
          if (at % kJudgeTile == 0) reader.Read(i, std::min(kJudgeTile, length_ - at));
          return reader.Got(at % kJudgeTile);
        });
      }
    });
    return KeepFirst(std::move(factors));
  }
  std::vector<double> CommonFactors(const std::function<double(int64_t)>& result) const {
    std::vector<double> factors;
    for (int64_t row = 0; row < count_; ++row) factors.push_back(CommonFactor(row, result));
    return KeepFirst(std::move(factors));
  }

 private:
  double CommonFactor(int64_t row, const std::function<double(int64_t)>& got) const {
    double with_value = 0, squares = 0;
    for (int64_t i = row * length_; i < (row + 1) * length_; ++i) {
      const double y = value_[static_cast<size_t>(i)], error = got(i) - y;
      if (!std::isfinite(error) || judge_.Open(i)) continue;
      with_value += error * y, squares += y * y;
    }
    return squares > 0 && std::isfinite(with_value / squares) ? with_value / squares : 0;
  }

  std::vector<double> KeepFirst(std::vector<double> factors) const {
    std::unordered_set<uint64_t> seen;
    std::vector<double> kept;
    for (int64_t row = 0; row < count_; ++row) {
      const double* values = value_.data() + row * length_;
      if (!seen.insert(HashBytes(values, static_cast<size_t>(length_) * sizeof(double))).second) continue;
      kept.push_back(factors[static_cast<size_t>(row)]);
    }
    return kept;
  }

  const ElementJudge& judge_;
  int64_t count_, length_;
  std::span<const double> value_;
};

// Whether some number that rows store may err to one side in these rows.
bool StoredValuesLean(const SharedSteps& steps, const FloatFormat& format) {
  return std::ranges::any_of(steps.values, [&](const std::vector<double>& values) {
    Signs signs;
    std::unordered_set<double> different;
    for (const double x : values) {
      if (!std::isfinite(x)) continue;
      const double stored = RoundTo(format, x);
      different.insert(stored);
      signs.Add(x == 0 ? 0 : (stored - x) / x);
    }
    const bool exact = signs.Count() == 0;
    return !exact && (different.size() < kFewestStored || signs.Lean(kStoredLeanChance));
  });
}

// Whether the signs are more alike than chance makes those of independent rows.
bool RowsLean(const Signs& signs) {
  return static_cast<double>(signs.Most()) >= kLeastRowShare * static_cast<double>(signs.Count()) &&
         signs.Lean(kRowLeanChance);
}

// The largest mean factor of kernels that store nothing in 16 bits, whatever their order of summation: a factor that
// all elements have in common is within the bound of each.
double FindWideReach(const Operator& op, const Problem& problem, const ElementJudge& judge, Contract contract,
                     int64_t count) {
  contract.mid = Intermediate::kNone;
  const BoundModel bound = op.Bound(problem, judge.golden(), contract);
  const ElementJudge wide(judge.golden(), bound, contract, judge.dtype());
  const std::vector<double>& values = judge.golden().value;
  const int64_t length = std::ssize(values) / count;
  double sum = 0;
  for (int64_t row = 0; row < count; ++row) {
    double least = std::numeric_limits<double>::infinity();
    for (int64_t i = row * length; i < (row + 1) * length; ++i) {
      const double y = std::fabs(values[static_cast<size_t>(i)]);
      if (y > 0 && std::isfinite(y)) least = std::min(least, wide.Accumulated(i) / y);
    }
    sum += least;
  }
  return sum / static_cast<double>(count);
}

// Whether less than half of the squares is left without them.
bool Explains(const std::vector<double>& factors, const std::vector<double>& got) {
  double left = 0, all = 0;
  for (size_t i = 0; i < got.size(); ++i) left += (got[i] - factors[i]) * (got[i] - factors[i]), all += got[i] * got[i];
  return left < all / 2;
}

// The largest mean factor of the kernels that store more than one step, where it is none by chance. Rows that store
// their own numbers are such a kernel's only if they have its factors.
double FindNarrowShift(const SharedSteps& steps, const Rows& rows, const std::vector<double>& got) {
  double shift = 0;
  for (size_t k = 0; k < steps.with_stored_steps.size(); ++k) {
    const std::vector<double>& values = steps.with_stored_steps[k];
    const std::vector<double> factors = rows.CommonFactors([&](int64_t i) { return values[static_cast<size_t>(i)]; });
    const bool leans = SignsOf(factors).Lean(kStoredLeanChance) && (k == 0 || Explains(factors, got));
    if (leans) shift = std::max(shift, std::fabs(MeanOf(factors)));
  }
  return shift;
}

// Whether the roundings of the output may be why these rows lean.
bool OutputMayLean(const std::vector<double>& factors, const std::vector<double>& by_output) {
  std::vector<double> others;
  for (size_t i = 0; i < factors.size(); ++i) others.push_back(factors[i] - by_output[i]);
  return SignsOf(by_output).Lean(kStoredLeanChance) || !RowsLean(SignsOf(others));
}

}  // namespace

std::string RowLean::Text() const {
  return fmt::format(
      "{} of {} rows are off to the same side, by a factor of {:.6g} in the mean: roundings of what a row stores in {} "
      "err to both, a wrong constant, a lost term or another divisor to one",
      to_one_side, rows, factor, stored);
}

std::optional<RowLean> FindRowLean(const Operator& op, const Problem& problem, const ElementJudge& judge,
                                   const Contract& contract, const Tensor& got) {
  const bool rounds_to_both_sides = contract.out == OutputRounding::kNearest && contract.ftz == Flush::kNone;
  if (contract.mid == Intermediate::kNone || !rounds_to_both_sides || !IsFloat(judge.dtype())) return std::nullopt;
  const DType stored = contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16;
  const FloatFormat& format = FormatOf(stored);
  const int64_t count = op.CountSharingSlices(problem);
  if (count < 2 || judge.golden().size() == 0) return std::nullopt;
  const Rows rows(judge, count);
  const std::vector<double> factors = rows.CommonFactors(got);
  const Signs signs = SignsOf(factors);
  const double mean = MeanOf(factors), least = kLeastRowLean * format.UnitRoundoff();
  if (!RowsLean(signs) || std::fabs(mean) < least) return std::nullopt;
  const std::vector<double> by_output = rows.CommonFactors([&](int64_t i) { return judge.Rounded(i); });
  if (OutputMayLean(factors, by_output)) return std::nullopt;
  const SharedSteps steps = op.StepsOfSlices(problem, judge.golden(), format);
  if (StoredValuesLean(steps, format)) return std::nullopt;
  const double wide = FindWideReach(op, problem, judge, contract, count);
  const double narrow = 2 * (std::fabs(MeanOf(by_output)) + FindNarrowShift(steps, rows, factors));
  if (std::fabs(mean) < std::max(least, wide) + narrow) return std::nullopt;
  return RowLean{signs.Count(), signs.Most(), 1 + mean, std::string(Name(stored))};
}

}  // namespace assay
