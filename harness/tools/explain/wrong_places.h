// SPDX-License-Identifier: Apache-2.0
// The places where a result is wrong as it was meant: what explains these alone is a bug of one tile, row or lane.
#pragma once

#include <optional>
#include <vector>

#include "harness/tools/explain/cause.h"

namespace assay {

class WrongPlaces {
 public:
  // The result must outlive it.
  explicit WrongPlaces(const WrongResult& result);

  // How much the wrong output's elements say: of each how often its tolerance goes into its error; few bits where few
  // values are possible, and all NaN and infinities together say as little as two exact values.
  double bits() const { return bits_; }
  const ElementJudge& judge() const { return *judge_; }  // of the wrong output
  bool IsWrong(int64_t i) const { return wrong_[result_.output][static_cast<size_t>(i)]; }
  bool IsWrongElement(int64_t element) const;

  // Whether some elements of the output are wrong, not all, and each of them is right for this judge. True of an output
  // without wrong elements, unless it is the wrong one.
  bool AreRight(size_t output, const ElementJudge& changed, const Tensor& got) const;

  // Measures the wrong output against the changed case in its wrong elements, and as it was meant elsewhere.
  ResultFit Fit(const ElementJudge& changed, const Tensor& got) const;

  // How a change of the stored values explains the wrong output, and nothing else is wrong.
  Reach Explain(const OutputChange& change, ResultFit& fit) const;

 private:
  void LookAt(size_t output, const ElementJudge& judge);

  const WrongResult& result_;
  BoundModel bound_;
  std::optional<ElementJudge> judge_;     // of the wrong output, as it was meant
  std::vector<std::vector<bool>> wrong_;  // of each output, by number
  std::vector<int64_t> counts_;
  std::vector<double> values_;  // of the wrong output
  double bits_ = 0;
};

}  // namespace assay
