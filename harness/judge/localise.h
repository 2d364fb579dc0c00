// SPDX-License-Identifier: Apache-2.0
// Says in a few words where in a tensor failures lie: "12 of 4096 elements, last 3 columns; first [0,61], last
// [3,63]". Shapes of failures name their causes: a wrong edge, a wrong tile, a wrong lane.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay {

// Collects failing elements in ascending order; a repeated index (a complex element's second part) counts once.
class FailureMap {
 public:
  explicit FailureMap(const Shape& shape);
  void Add(int64_t index);
  int64_t count() const { return count_; }
  // "" when there are none. `of_sample`: neighbours in the tensor are none in what it was drawn from.
  std::string Text(bool of_sample = false) const;

 private:
  Shape shape_;
  Shape strides_;
  std::string TextOfDiagonal() const;
  int64_t count_ = 0, first_ = -1, last_ = -1;
  std::vector<std::vector<bool>> hit_;  // per axis and coordinate
  // The least and the greatest column - row of all failures.
  int64_t least_right_ = std::numeric_limits<int64_t>::max(), most_right_ = std::numeric_limits<int64_t>::min();
  // Failing elements in ascending order: all, or those whose hash ends with as many zeros as thinned_ has ones.
  std::vector<int64_t> kept_;
  uint64_t thinned_ = 0;
};

}  // namespace assay
