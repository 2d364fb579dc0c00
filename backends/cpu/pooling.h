// SPDX-License-Identifier: Apache-2.0
// Means, norms and maxima of windows of images: window by window, or each row's windows first and then those of
// columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/fold.h"
#include "backends/cpu/rows.h"

namespace cpu {

// Windows along an axis: elements first to last - 1, and by how many they are divided.
struct PoolWindow {
  int64_t first, last, count;
};

// x [n,c,h,w].
class Pooling {
 public:
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "h", "w", "oh", "ow", "ceil"}); }
  explicit Pooling(const plugin::OpDesc& op) : x_(op.inputs()[0].shape), y_(op.outputs()[0].shape) {
    const bool adapts = op.name() == "adaptive_avg_pool";
    const bool counts_padding = op.name() == "avg_pool" && op.AttrInt("count_pad") != 0;
    const int64_t k = adapts ? 0 : op.AttrInt("k"), stride = adapts ? 0 : op.AttrInt("stride");
    const int64_t pad = adapts ? 0 : op.AttrInt("pad");
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t from = x_[axis + 2], to = y_[axis + 2];
      for (int64_t i = 0; i < to; ++i) {
        const int64_t begin = adapts ? i * from / to : i * stride - pad;
        const int64_t end = adapts ? ((i + 1) * from + to - 1) / to : begin + k;
        const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, from);
        windows_[axis].push_back({first, last, counts_padding ? std::min(end, from + pad) - begin : last - first});
      }
    }
  }

 protected:
  // visit(window of rows, window of columns, first element of the image, place in y)
  template <class Visit>
  void ForWindows(const Visit& visit) const {
    int64_t to = 0;
    for (int64_t image = 0; image < x_[0] * x_[1]; ++image) {
      for (const PoolWindow& rows : windows_[0]) {
        for (const PoolWindow& columns : windows_[1]) visit(rows, columns, image * x_[2] * x_[3], to++);
      }
    }
  }

  // The sum of `of(element)` over a window: of each row's first, or one after the other.
  template <bool kRowsFirst, class Acc, class Of>
  Acc SumOver(const PoolWindow& rows, const PoolWindow& columns, const Acc* image, const Of& of) const {
    Acc sum = 0;
    for (int64_t row = rows.first; row < rows.last; ++row) {
      Acc of_row = kRowsFirst ? 0 : sum;
      for (int64_t column = columns.first; column < columns.last; ++column) of_row += of(image[row * x_[3] + column]);
      sum = kRowsFirst ? sum + of_row : of_row;
    }
    return sum;
  }

  std::vector<int64_t> x_, y_;
  std::vector<PoolWindow> windows_[2];
};

template <bool kRowsFirst>
struct AvgPool : public Pooling {
  using Pooling::Pooling;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    ForWindows([&](const PoolWindow& rows, const PoolWindow& columns, int64_t image, int64_t to) {
      const Acc sum = SumOver<kRowsFirst>(rows, columns, x[0].data() + image, [](Acc element) { return element; });
      const auto count = static_cast<Acc>(rows.count * columns.count);
      y[to] = kRowsFirst ? sum * (1 / count) : sum / count;
    });
  }
};

template <bool kRowsFirst>
struct LpPool : public Pooling {
  explicit LpPool(const plugin::OpDesc& op) : Pooling(op), is_square_(op.AttrString("p") == "2") {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    ForWindows([&](const PoolWindow& rows, const PoolWindow& columns, int64_t image, int64_t to) {
      const Acc sum = SumOver<kRowsFirst>(rows, columns, x[0].data() + image, [&](Acc element) {
        return is_square_ ? element * element : std::abs(element);
      });
      y[to] = is_square_ ? std::sqrt(sum) : sum;
    });
  }
  bool is_square_;
};

// y and the places of its elements in their image. NaN is larger than any number.
template <bool kRowsFirst>
struct MaxPool : public Pooling {
  using Pooling::Pooling;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  // Places travel as numbers of the accumulator's type: f32 has all of them up to 2^24.
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::Tensor& x = op.inputs()[0];
    return plugin::IsFloat(x.dtype) && (x.dtype == plugin::kF64 || x.shape[2] * x.shape[3] <= int64_t{1} << 24);
  }
  template <class Acc>
  static bool IsBeyond(Acc x, Acc best) {
    return x > best || (x != x && best == best);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    ForWindows([&](const PoolWindow& rows, const PoolWindow& columns, int64_t image, int64_t to) {
      int64_t best = rows.first * x_[3] + columns.first;
      const auto take = [&](int64_t& of, int64_t place) {
        if (IsBeyond(x[0][image + place], x[0][image + of])) of = place;
      };
      for (int64_t row = rows.first; row < rows.last; ++row) {
        int64_t of_row = row * x_[3] + columns.first;
        int64_t& found = kRowsFirst ? of_row : best;
        for (int64_t column = columns.first; column < columns.last; ++column) take(found, row * x_[3] + column);
        if (kRowsFirst) take(best, of_row);
      }
      y[0][to] = x[0][image + best];
      y[1][to] = static_cast<Acc>(best);
    });
  }
};

}  // namespace cpu
