// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/row_lean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include "harness/judge/statistic/row_factors.h"

namespace assay {
namespace {

// Chance by which what is stored may seem to err to one side: that only silences the finding.
constexpr double kStoredLeanChance = 1e-4;
// Rows that store fewer different numbers are too much alike for the roundings of these, or of their square roots, to
// be independent: 6 in 100 rows are a standard deviation of 1.2 spacings.
constexpr size_t kFewestStored = 6;

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

// The largest mean factor of kernels that store nothing in 16 bits, whatever their order of summation: a factor that
// all elements have in common is within the bound of each.
double FindWideReach(const Operator& op, const Problem& problem, size_t output, const ElementJudge& judge,
                     Contract contract, int64_t count) {
  contract.mid = Intermediate::kNone;
  const BoundModel bound = op.Bound(problem, output, judge.golden(), contract);
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
  return SignsOf(by_output).Lean(kStoredLeanChance) || !RowsLean(SignsOf(others), SignsOf(others).Count());
}

}  // namespace

std::string RowLean::Text() const {
  if (stored.empty()) {
    return fmt::format(
        "{} of {} rows are off to the same side, by a factor of 1 {} {:.2g} in the mean, and operations and sums may "
        "move them by {:.2g}. Compare the kernel's epsilon, divisor and number of summed terms with the reference, or "
        "declare its functions' error with math=",
        to_one_side, rows, factor < 0 ? '-' : '+', std::fabs(factor), permitted);
  }
  return fmt::format(
      "{} of {} rows are off to the same side, by a factor of {:.6g} in the mean: roundings of what a row stores in {} "
      "err to both, a wrong constant, a lost term or another divisor to one",
      to_one_side, rows, 1 + factor, stored);
}

std::optional<RowLean> FindRowLean(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, const ElementJudge& judge, const Contract& contract,
                                   const Tensor& got) {
  const bool rounds_to_both_sides = contract.RoundsToNearest() && contract.ftz == Flush::kNone;
  if (!rounds_to_both_sides || !IsFloat(judge.dtype())) return std::nullopt;
  if (contract.mid == Intermediate::kNone) return FindWideRowLean(op, problem, output, inputs, judge, contract, got);
  const DType stored = contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16;
  const FloatFormat& format = FormatOf(stored);
  const int64_t count = op.TraitsOf(problem, output).sharing_slices;
  if (count < 2 || judge.golden().size() == 0) return std::nullopt;
  const Rows rows(judge, count);
  const std::vector<double> factors = rows.CommonFactors(got);
  const Signs signs = SignsOf(factors);
  const double mean = MeanOf(factors), least = kLeastRowLean * format.UnitRoundoff();
  if (!RowsLean(signs, signs.Count()) || std::fabs(mean) < least) return std::nullopt;
  const std::vector<double> by_output = rows.CommonFactors([&](int64_t i) { return judge.Rounded(i); });
  if (OutputMayLean(factors, by_output)) return std::nullopt;
  const SharedSteps steps = op.StepsOfSlices(problem, output, judge.golden(), format);
  if (StoredValuesLean(steps, format)) return std::nullopt;
  const double wide = FindWideReach(op, problem, output, judge, contract, count);
  const double narrow = 2 * (std::fabs(MeanOf(by_output)) + FindNarrowShift(steps, rows, factors));
  if (std::fabs(mean) < std::max(least, wide) + narrow) return std::nullopt;
  const double on_side = MeanExcess(factors, std::vector<double>(factors.size(), 0)).factor;
  return RowLean{signs.Count(), signs.Most(), on_side, {}, std::string(Name(stored))};
}

}  // namespace assay
