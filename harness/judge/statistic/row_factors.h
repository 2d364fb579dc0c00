// SPDX-License-Identifier: Apache-2.0
// The factor that each row of a result has in common with its golden values, and whether it lies to one side in most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "harness/judge/judge.h"

namespace assay {

struct Signs {
  int64_t positive = 0, negative = 0;
  void Add(double x) { positive += x > 0 ? 1 : 0, negative += x < 0 ? 1 : 0; }
  int64_t Count() const { return positive + negative; }
  int64_t Most() const { return std::max(positive, negative); }
  // Whether they are more alike than chance makes as many independent ones.
  bool Lean(double chance) const;
};

Signs SignsOf(std::span<const double> values);
double MeanOf(std::span<const double> values);

// By chance one tensor in 10^6 has rows that lean.
inline constexpr double kRowLeanChance = 1e-6;
// Whether the signs of `rows` rows are more alike than chance makes those of independent rows, of which half have
// either sign at most.
bool RowsLean(const Signs& signs, int64_t rows);

// Means over the rows whose factors are beyond what is permitted, to the side to which more rows are.
struct RowExcess {
  double factor = 0, permitted = 0;
};
RowExcess MeanExcess(std::span<const double> factors, std::span<const double> permitted);

// Equal parts of the output, one behind the other. Answers have a number for each row whose golden values no row before
// has; it is 0 where a row has none.
class Rows {
 public:
  Rows(const ElementJudge& judge, int64_t count)
      : judge_(judge), count_(count), length_(judge.golden().size() / count), value_(judge.golden().value) {}

  // The c of least squares, sum(e y) / sum(y^2) with e the errors.
  std::vector<double> CommonFactors(const Tensor& got) const;
  std::vector<double> CommonFactors(const std::function<double(int64_t)>& result) const;
  // The largest c of rows whose errors are as large as these, with any signs; infinite where one of them is.
  std::vector<double> LargestFactors(const std::function<double(int64_t)>& error) const;
  // sum(e^2) / sum(y^2).
  std::vector<double> RelativeSquares(const std::function<double(int64_t)>& error) const;

 private:
  // The sum of `term`(y, i) over the row's elements that are judged, over that of y^2.
  template <class Term>
  double RelativeSum(int64_t row, const Term& term) const;
  template <class Term>
  std::vector<double> RelativeSums(const Term& term) const;
  std::vector<double> KeepFirst(const std::vector<double>& numbers) const;

  const ElementJudge& judge_;
  int64_t count_, length_;
  std::span<const double> value_;
};

}  // namespace assay
