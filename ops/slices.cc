// SPDX-License-Identifier: Apache-2.0
#include "ops/slices.h"

#include <algorithm>
#include <cstring>

#include "harness/core/base/check.h"

namespace assay {
namespace {

int64_t ExtentBefore(const Shape& shape, int64_t axis) {
  return NumElements(Shape(shape.begin(), shape.begin() + axis));
}

}  // namespace

std::vector<SliceAxes> Several(std::vector<SliceAxes> axes) {
  std::erase_if(axes, [](const SliceAxes& a) { return a.extent <= 1; });
  return axes;
}

Tensor TakeAlong(const Tensor& tensor, int64_t axis, std::span<const int64_t> indices) {
  const Shape& shape = tensor.shape();
  const int64_t outer = ExtentBefore(shape, axis);
  const size_t inner = static_cast<size_t>(NumElements(Shape(shape.begin() + axis + 1, shape.end()))) *
                       static_cast<size_t>(SizeOf(tensor.dtype()));
  Shape taken = shape;
  taken[axis] = std::ssize(indices);
  Tensor out(tensor.dtype(), taken);
  std::byte* to = out.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices) {
      std::memcpy(to, tensor.data() + static_cast<size_t>(o * shape[axis] + index) * inner, inner);
      to += inner;
    }
  }
  return out;
}

SlicedOperand::SlicedOperand(const Operand& operand, int64_t axis, int64_t extent)
    : axis_(axis),
      outer_(static_cast<uint64_t>(ExtentBefore(operand.shape, axis))),
      extent_(static_cast<uint64_t>(extent)) {
  ASSAY_CHECK(operand.shape[axis] % extent == 0);
  bytes_ = BytesOf(operand) / (outer_ * extent_);
}

std::vector<SlicedOperand::Range> SlicedOperand::Exchange(std::span<std::byte> tensor, int64_t i, int64_t j) const {
  const auto low = static_cast<uint64_t>(std::min(i, j)) * bytes_,
             high = static_cast<uint64_t>(std::max(i, j)) * bytes_;
  const uint64_t step = extent_ * bytes_;
  for (uint64_t o = 0; o < outer_; ++o) {
    std::byte* const at = tensor.data() + o * step;
    std::swap_ranges(at + low, at + low + bytes_, at + high);
  }
  if (outer_ == 1) return {{low, bytes_}, {high, bytes_}};
  return {{low, (outer_ - 1) * step + high + bytes_ - low}};
}

Tensor SlicedOperand::Restored(const Tensor& tensor, std::span<const int64_t> order) const {
  const int64_t width = tensor.shape()[axis_] / std::ssize(order);
  std::vector<int64_t> indices(static_cast<size_t>(tensor.shape()[axis_]));
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    for (int64_t w = 0; w < width; ++w) indices[order[i] * width + w] = i * width + w;
  }
  return TakeAlong(tensor, axis_, indices);
}

}  // namespace assay
