// SPDX-License-Identifier: Apache-2.0
// Tensors whose slices along an axis change places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

// Keeps the axes with more than one slice.
std::vector<SliceAxes> Several(std::vector<SliceAxes> axes);

// The slices `indices` of the tensor along one axis, in that order.
Tensor TakeAlong(const Tensor& tensor, int64_t axis, std::span<const int64_t> indices);

// One operand's part in SliceAxes: an axis, in `extent` slices.
class SlicedOperand {
 public:
  // Precondition: the axis is a multiple of the extent.
  SlicedOperand(const Operand& operand, int64_t axis, int64_t extent);

  // Bytes of the tensor.
  struct Range {
    uint64_t first = 0, bytes = 0;
  };
  // Two slices of a dense tensor change places. What was touched: both where a slice is one piece, else all from the
  // first to the last piece.
  std::vector<Range> Exchange(std::span<std::byte> tensor, int64_t i, int64_t j) const;

  // The tensor in which slice order[i] is what slice i is here.
  Tensor Restored(const Tensor& tensor, std::span<const int64_t> order) const;

  // How much an exchange touches, at most.
  uint64_t TouchedBytes() const { return outer_ == 1 ? 2 * bytes_ : outer_ * extent_ * bytes_; }

 private:
  int64_t axis_;
  uint64_t outer_ = 1, extent_ = 1;
  uint64_t bytes_ = 0;  // of a piece: a slice for one index of the axes before
};

}  // namespace assay
