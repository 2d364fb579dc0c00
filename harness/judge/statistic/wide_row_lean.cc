// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/statistic/groups.h"
#include "harness/judge/statistic/random_data.h"
#include "harness/judge/statistic/row_factors.h"
#include "harness/judge/statistic/row_lean.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

// Errors of second order are at most this times the square of those of first order: the inverse root of a sum that is
// off by e has 3/8 e^2, and a variance about a mean that is off by d has d^2.
constexpr double kSecondOrder = 2;

// How many rows are beyond what each is permitted.
Signs CountBeyond(const std::vector<double>& factors, const std::vector<double>& permitted) {
  Signs signs;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (std::fabs(factors[i]) > permitted[i]) signs.Add(factors[i]);
  }
  return signs;
}

class PermittedLean {
 public:
  PermittedLean(const Operator& op, const Problem& problem, size_t output, const ElementJudge& judge,
                const Contract& contract, const Rows& rows)
      : op_(op), problem_(problem), output_(output), judge_(judge), contract_(contract), rows_(rows) {}

  // The largest legal factor of each row, with sums that lose this share and outputs that all round to one side, as the
  // results of short rows may do; empty: not known.
  std::vector<double> PerRow(double sum_lean) const {
    const std::vector<double> lean = op_.LeanOfSlices(problem_, output_, judge_.golden(), contract_, sum_lean);
    if (lean.empty()) return {};
    const int64_t size = judge_.golden().size();
    const FloatFormat& out = FormatOf(judge_.dtype());
    std::vector<double> permitted = rows_.LargestFactors([&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      const double stored = out.UnitRoundoff() * std::fabs(judge_.golden().value[at]) + out.MinSubnormal() / 2;
      return lean[at] + PlaneAt(judge_.golden().error, i, size) + stored;
    });
    const std::vector<double> squares = rows_.RelativeSquares([&](int64_t i) { return kModelSlack * judge_.Sigma(i); });
    for (size_t row = 0; row < permitted.size(); ++row) permitted[row] += kSecondOrder * squares[row];
    return permitted;
  }

 private:
  const Operator& op_;
  const Problem& problem_;
  size_t output_;
  const ElementJudge& judge_;
  const Contract& contract_;
  const Rows& rows_;
};

}  // namespace

std::optional<RowLean> FindWideRowLean(const Operator& op, const Problem& problem, size_t output,
                                       std::span<const Tensor> inputs, const ElementJudge& judge,
                                       const Contract& contract, const Tensor& got) {
  const bool is_wide = FormatOf(judge.dtype()).precision >= FormatOf(DType::kF32).precision;
  const int64_t count = is_wide && StatisticApplies(judge) ? op.TraitsOf(problem, output).sharing_slices : 0;
  if (count < 2 || judge.golden().size() == 0) return std::nullopt;
  const Rows rows(judge, count);
  const std::vector<double> factors = rows.CommonFactors(got);
  const auto all = static_cast<int64_t>(factors.size());
  // From cheap to dear: no kernel is denied a rounding of each result.
  const double rounding = std::max(judge.params().u_acc, FormatOf(judge.dtype()).UnitRoundoff());
  if (!RowsLean(CountBeyond(factors, std::vector(factors.size(), rounding)), all)) return std::nullopt;
  const PermittedLean lean(op, problem, output, judge, contract, rows);
  std::vector<double> permitted = lean.PerRow(0);
  if (permitted.empty() || !RowsLean(CountBeyond(factors, permitted), all)) return std::nullopt;
  if (!ExplainNotRandom(op, problem, output, inputs, -1, contract).empty()) return std::nullopt;
  permitted = lean.PerRow(MeasureSumLean(op, problem, output, inputs, contract, count));
  const Signs beyond = CountBeyond(factors, permitted);
  if (!RowsLean(beyond, all)) return std::nullopt;
  const RowExcess excess = MeanExcess(factors, permitted);
  return RowLean{all, beyond.Most(), excess.factor, excess.permitted, {}};
}

}  // namespace assay
