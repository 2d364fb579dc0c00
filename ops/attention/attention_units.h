// SPDX-License-Identifier: Apache-2.0
// Units that share a row's keys, and what it costs to join their results (golden/units.md has the derivation).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/attention_bound_row.h"
#include "ops/exp_error.h"

namespace assay {

inline constexpr double kSmallestKeyBlock = 16;  // of published kernels
inline constexpr int64_t kRowsOfBound = 16;      // whose errors a thread bounds at least

// The root of the sum of squares, by std::hypot only where squares leave the range: it takes several times as long.
template <class... Rest>
double Norm(double x, Rest... rest) {
  const double squares = ((x * x) + ... + (rest * rest));
  if (squares > kLeastSquares && squares < kMostSquares) return std::sqrt(squares);
  ((x = std::hypot(x, rest)), ...);
  return x;
}

// Joined by log-sums, m + log l of each unit: of the hard bound.
class LogSumErrors {
 public:
  explicit LogSumErrors(const OperationErrors& e) : u_(e.u), eps_(e.eps) {}

  // Additional error of a key's weight for n keys: kOfScore more roundings relative to its score, kOfAdded more
  // relative to |mask| + |t|, and OfWeight on top.
  static constexpr double kOfScore = 2, kOfAdded = 3;
  double OfWeight(double keys) const;
  // Relative error of o itself where no division by the weights' sum follows. `largest` is the largest |score| with its
  // mask.
  double OfAll(double keys, double largest) const;

 private:
  double u_, eps_;
};

// How errors of units are distributed: of the statistic. u: of the accumulator.
class UnitDeviation {
 public:
  UnitDeviation(const AttentionArgs& op, const Golden& golden, const OperationErrors& e, double u);
  // The deviation of an element, and what is systematic. `shift` and `move` are those of the planes.
  double At(int64_t i, int64_t row, double shift, double move) const;
  void SetRow(int64_t row, RowDeviation& of) const {
    const Row& r = of_rows_[static_cast<size_t>(row)];
    of.has_units = r.log_keys != 0, of.u = u_, of.of_log = r.of_log, of.of_max = r.of_max, of.log_keys = r.log_keys;
    of.of_all = r.of_all, of.systematic = r.systematic;
  }
  double Systematic(int64_t i, int64_t row) const { return of_rows_[static_cast<size_t>(row)].systematic * Size(i); }

 private:
  // Deviations of a unit's weight, from its logarithm and from each product of its maximum, and of the log-sum of all,
  // which is relative to |o|; none where there are no units.
  struct Row {
    double of_log = 0, of_max = 0, log_keys = 0, of_all = 0, systematic = 0;
  };
  Row RowOf(int64_t row) const;
  double Size(int64_t i) const {
    const double y = value_[static_cast<size_t>(i)];
    return std::isfinite(y) ? std::fabs(y) : 0;
  }

  const AttentionArgs& op_;
  const std::vector<double>& value_;
  const Plane& rows_;
  double u_, eps_;
  std::vector<Row> of_rows_;
};

}  // namespace assay
