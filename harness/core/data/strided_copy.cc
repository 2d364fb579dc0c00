// SPDX-License-Identifier: Apache-2.0
// Scatter and Gather: a row of the last axis at a time, rows in parallel.
#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/tensor.h"

namespace assay {
namespace {

// Bytes of a view need not be aligned to the element (a layout may ask for any byte offset), hence memcpy.
template <int kSize>
void CopyRow(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, kSize);
}

void CopyRow(int size, std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  if (to_step == size && from_step == size) {
    std::memcpy(to, from, static_cast<size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return CopyRow<1>(to, to_step, from, from_step, n);
    case 2:
      return CopyRow<2>(to, to_step, from, from_step, n);
    case 4:
      return CopyRow<4>(to, to_step, from, from_step, n);
    case 8:
      return CopyRow<8>(to, to_step, from, from_step, n);
    default:
      ASSAY_CHECK(size == 16);
      return CopyRow<16>(to, to_step, from, from_step, n);
  }
}

// Whether two index tuples may name the same element. Sufficient, not necessary: each stride, in ascending order,
// must step over everything that the smaller ones reach.
bool MayOverlap(const Shape& shape, const Shape& strides) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) axes.emplace_back(strides[i], shape[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0;
  for (auto [stride, extent] : axes) {
    if (stride <= reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

// Calls row(dense element, strided element) for the first element of every row of the last axis in [begin, end).
template <class Row>
void ForRows(const Shape& shape, const Shape& strides, int64_t begin, int64_t end, Row row) {
  const size_t outer_rank = shape.size() - 1;
  const int64_t length = shape.back();
  for (int64_t r = begin; r < end; ++r) {
    int64_t offset = 0;
    int64_t rest = r;
    for (size_t axis = outer_rank; axis-- > 0;) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    row(r * length, offset);
  }
}

// Rank 0 is a row of one element.
TensorView AtLeastRank1(TensorView view) {
  if (view.shape.empty()) {
    view.shape = {1};
    view.strides = {1};
  }
  return view;
}

void Check(const Tensor& dense, const TensorView& view) {
  ASSAY_CHECK(dense.dtype() == view.dtype);
  ASSAY_CHECK(dense.shape() == view.shape);
  ASSAY_CHECK(view.strides.size() == view.shape.size());
}

}  // namespace

void Scatter(const Tensor& from, const TensorView& to) {
  Check(from, to);
  if (from.size() == 0) return;
  const TensorView view = AtLeastRank1(to);
  const int64_t length = view.shape.back(), rows = from.size() / length;
  const int size = SizeOf(view.dtype);
  const auto copy = [&](int64_t begin, int64_t end) {
    ForRows(view.shape, view.strides, begin, end, [&](int64_t dense, int64_t strided) {
      CopyRow(size, view.data + strided * size, view.strides.back() * size, from.data() + dense * size, size, length);
    });
  };
  // Overlapping elements (a stride of 0) take the last writer's value, which only one thread can define.
  if (MayOverlap(view.shape, view.strides)) return copy(0, rows);
  ParallelFor(rows, std::max<int64_t>(1, (1 << 15) / length), copy);
}

void Gather(const TensorView& from, Tensor& to) {
  Check(to, from);
  if (to.size() == 0) return;
  const TensorView view = AtLeastRank1(from);
  const int64_t length = view.shape.back(), rows = to.size() / length;
  const int size = SizeOf(view.dtype);
  ParallelFor(rows, std::max<int64_t>(1, (1 << 15) / length), [&](int64_t begin, int64_t end) {
    ForRows(view.shape, view.strides, begin, end, [&](int64_t dense, int64_t strided) {
      CopyRow(size, to.data() + dense * size, size, view.data + strided * size, view.strides.back() * size, length);
    });
  });
}

}  // namespace assay
