// SPDX-License-Identifier: Apache-2.0
// Hard bounds and deviations of a row's columns, many columns at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "golden/golden.h"

namespace assay {

// Sums of squares within these have a root that std::hypot gives as well.
inline constexpr double kLeastSquares = 0x1p-900, kMostSquares = 0x1p900;

// Rows of planes as doubles.
class RowPlanes {
 public:
  RowPlanes(std::vector<const Plane*> planes, int64_t columns)
      : planes_(std::move(planes)), columns_(columns), values_(planes_.size() * static_cast<size_t>(columns)) {}
  void Read(int64_t row) {
    for (size_t k = 0; k < planes_.size(); ++k) {
      planes_[k]->Read(row * columns_,
                       {values_.data() + k * static_cast<size_t>(columns_), static_cast<size_t>(columns_)});
    }
  }
  const double* operator[](size_t k) const { return values_.data() + k * static_cast<size_t>(columns_); }

 private:
  std::vector<const Plane*> planes_;
  int64_t columns_;
  std::vector<double> values_;
};

// Coefficients of the statistic that the columns of a row share (attention_statistic.cc explains them).
struct RowDeviation {
  double largest = 0, random = 0, of_moved = 0, of_dot = 0, of_added = 0, of_weight = 0, of_cap = 0;
  double stored = 0, grown = 1;
  bool small = true;  // else range is systematic
  double squares = 0, lost = 0;
  // Deviations of units that share the keys, see UnitDeviation.
  bool has_units = false;
  double u = 0, of_log = 0, of_max = 0, log_keys = 0, of_all = 0, systematic = 0;
};
struct DeviationColumns {
  const double *shift, *move, *dot, *added, *range, *value;
};
// The deviation and the systematic error of n columns. False: some numbers are out of a vector's range, and each has to
// be computed by itself.
bool FindDeviations(const RowDeviation& row, const DeviationColumns& of, int64_t n, double* deviation,
                    double* systematic);

// Coefficients of the hard bound that the columns of a row share (attention_bound.cc).
struct RowBound {
  bool known, linear;                           // no weight is NaN; errors of weights are linear in those of scores
  double inflation, grown, tail, stored;        // grown: the inflation with the tail
  double dot, scores, added, log_weight, lost;  // factors in the error of the weights
  double keys, lost_weight, constant, flushed;  // of underflow
  double of_magnitude, of_size, per_total;      // of both sums
  double ending, sums;
};
struct BoundPlanes {
  const double *value, *range, *values, *magnitude, *dot, *added;
};
void FindBounds(const RowBound& row, const BoundPlanes& of, int64_t n, double* a);

}  // namespace assay
