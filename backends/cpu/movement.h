// SPDX-License-Identifier: Apache-2.0
// Elements that move: each result takes its element from a place that is computed for it, or whole stretches of a row
// are copied, turned and filled.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "backends/common/status.h"
#include "backends/cpu/rows.h"

namespace cpu {

// Base of the kernels of this file: their operands are numbers of one type, or numbers with places or a mask.
struct Moving {
  static constexpr bool kWhole = true;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) {
    op.MayIgnore({"a", "b", "c", "rows", "n", "m", "k", "classes"});
  }
  explicit Moving(const plugin::OpDesc& op) : x_(op.inputs()[0].shape), y_(op.outputs()[0].shape) {}

  std::vector<int64_t> x_, y_;
};

// Along an axis of x [rows,n], or of x and a second operand: y is `lines` stretches of `of_y` rows of `row` elements.
struct MovingAlong : public Moving {
  explicit MovingAlong(const plugin::OpDesc& op) : Moving(op), of_rows_(op.AttrString("axis") == "0") {
    lines_ = of_rows_ ? 1 : x_[0];
    row_ = of_rows_ ? x_[1] : 1;
  }
  int64_t Extent(const std::vector<int64_t>& shape) const { return shape[of_rows_ ? 0 : 1]; }

  // Fills y from `place`: where the element that stands at i of the axis is along that of x.
  template <class Acc, class Place>
  void Move(std::span<const Acc> x, std::span<Acc> y, const Place& place) const {
    const int64_t n = Extent(x_), of_y = Extent(y_);
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t line = i / (of_y * row_), at = i / row_ % of_y;
      y[i] = x[(line * n + place(at)) * row_ + i % row_];
    }
  }

  bool of_rows_;
  int64_t lines_, row_;
};

template <bool kByStretch>
struct Concat : public MovingAlong {
  using MovingAlong::MovingAlong;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t first = Extent(x_) * row_, all = Extent(y_) * row_, second = all - first;
    for (int64_t line = 0; line < lines_ && kByStretch; ++line) {
      std::ranges::copy(x[0].subspan(line * first, first), y.begin() + line * all);
      std::ranges::copy(x[1].subspan(line * second, second), y.begin() + line * all + first);
    }
    for (int64_t i = 0; i < std::ssize(y) && !kByStretch; ++i) {
      const int64_t line = i / all, at = i % all;
      y[i] = at < first ? x[0][line * first + at] : x[1][line * second + at - first];
    }
  }
};

template <bool kByStretch>
struct Flip : public MovingAlong {
  using MovingAlong::MovingAlong;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t n = Extent(x_);
    if (!kByStretch) return Move(x[0], y, [&](int64_t i) { return n - 1 - i; });
    for (int64_t line = 0; line < lines_; ++line) {
      for (int64_t i = 0; i < n; ++i) {
        std::ranges::copy(x[0].subspan((line * n + i) * row_, row_), y.begin() + (line * n + n - 1 - i) * row_);
      }
    }
  }
};

template <bool kByStretch>
struct Roll : public MovingAlong {
  explicit Roll(const plugin::OpDesc& op) : MovingAlong(op), shift_(op.AttrInt("shift")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t n = Extent(x_), shift = (shift_ % n + n) % n;
    if (!kByStretch) return Move(x[0], y, [&](int64_t i) { return i < shift ? i - shift + n : i - shift; });
    for (int64_t line = 0; line < lines_; ++line) {
      const std::span<const Acc> from = x[0].subspan(line * n * row_, n * row_);
      std::ranges::rotate_copy(from, from.end() - shift * row_, y.begin() + line * n * row_);
    }
  }
  int64_t shift_;
};

template <bool kByStretch>
struct OneHot : public Moving {
  using Moving::Moving;
  static bool Takes(const plugin::OpDesc& op) { return plugin::IsFloat(op.outputs()[0].dtype); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t classes = y_[1];
    for (int64_t i = 0; i < std::ssize(y) && !kByStretch; ++i) {
      y[i] = static_cast<Acc>(static_cast<Acc>(i % classes) == x[0][i / classes]);
    }
    if (!kByStretch) return;
    std::ranges::fill(y, Acc{0});
    for (int64_t i = 0; i < std::ssize(x[0]); ++i) {
      const auto place = static_cast<int64_t>(x[0][i]);
      if (place < 0 || place >= classes) throw plugin::Failure("index {} lies outside of [0, {})", place, classes);
      y[i * classes + place] = 1;
    }
  }
};

template <bool kByStretch>
struct Pad : public Moving {
  explicit Pad(const plugin::OpDesc& op)
      : Moving(op),
        mode_(op.AttrString("mode")),
        top_(op.AttrInt("top")),
        left_(op.AttrInt("left")),
        value_(op.AttrFloat("value")) {
    op.MayIgnore({"bottom", "right"});  // the shapes tell
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    if (mode_ == "constant") std::ranges::fill(y, static_cast<Acc>(value_));
    if (!kByStretch) return ByElement(x[0], y);
    const int64_t n = x_[1], width = y_[1];
    for (int64_t row = 0; row < y_[0]; ++row) {
      if (mode_ == "constant" && (row < top_ || row >= top_ + x_[0])) continue;
      const std::span<Acc> to = y.subspan(row * width, width);
      const std::span<const Acc> from = x[0].subspan(Place(row - top_, x_[0]) * n, n);
      std::ranges::copy(from, to.begin() + left_);
      if (mode_ == "edge") {
        std::fill_n(to.begin(), left_, from.front());
        std::fill(to.begin() + left_ + n, to.end(), from.back());
      } else if (mode_ == "reflect") {
        std::reverse_copy(from.begin() + 1, from.begin() + 1 + left_, to.begin());
        const int64_t right = width - left_ - n;
        std::reverse_copy(from.end() - 1 - right, from.end() - 1, to.begin() + left_ + n);
      }
    }
  }

 private:
  template <class Acc>
  void ByElement(std::span<const Acc> x, std::span<Acc> y) const {
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t row = i / y_[1] - top_, column = i % y_[1] - left_;
      const bool inside = row >= 0 && row < x_[0] && column >= 0 && column < x_[1];
      if (inside || mode_ != "constant") y[i] = x[Place(row, x_[0]) * x_[1] + Place(column, x_[1])];
    }
  }
  int64_t Place(int64_t i, int64_t n) const {
    if (mode_ == "reflect") return std::abs(i < n ? i : 2 * (n - 1) - i);
    return std::clamp<int64_t>(i, 0, n - 1);
  }

  std::string mode_;
  int64_t top_, left_;
  double value_;
};

// By the order of the results, or by that of the places, each of which is loaded once.
template <bool kByPlace>
struct TakeAlongAxis : public Moving {
  using Moving::Moving;
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::Tensor& x = op.inputs()[0];
    const bool holds_places = x.dtype == plugin::kF64 || x.shape.back() <= int64_t{1} << 24;
    return plugin::IsFloat(x.dtype) && holds_places && plugin::IsInteger(op.inputs()[1].dtype);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    std::vector<size_t> order(y.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (kByPlace) std::ranges::stable_sort(order, {}, [&](size_t i) { return x[1][i]; });
    for (const size_t i : order) {
      const auto row = static_cast<int64_t>(i) / y_[1], place = static_cast<int64_t>(x[1][i]);
      if (place < 0 || place >= x_[1]) throw plugin::Failure("index {} lies outside of [0, {})", place, x_[1]);
      y[i] = x[0][row * x_[1] + place];
    }
  }
};

// By the order of the results, or by that of x in tiles.
template <bool kByTiles>
struct Transpose : public Moving {
  explicit Transpose(const plugin::OpDesc& op) : Moving(op), perm_(op.AttrString("perm")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t of_x[] = {x_[1] * x_[2], x_[2], 1}, of_y[] = {y_[1] * y_[2], y_[2], 1};
    if (!kByTiles) {
      for (int64_t i = 0; i < std::ssize(y); ++i) {
        int64_t from = 0;
        for (int axis = 0; axis < 3; ++axis) from += i / of_y[axis] % y_[axis] * of_x[perm_[axis] - '0'];
        y[i] = x[0][from];
      }
      return;
    }
    constexpr int64_t kTile = 4;
    int64_t to[3] = {};
    for (int axis = 0; axis < 3; ++axis) to[perm_[axis] - '0'] = of_y[axis];
    for (int64_t a = 0; a < x_[0]; ++a) {
      for (int64_t tile = 0; tile < x_[2]; tile += kTile) {
        for (int64_t b = 0; b < x_[1]; ++b) {
          for (int64_t c = tile; c < std::min(tile + kTile, x_[2]); ++c) {
            y[a * to[0] + b * to[1] + c * to[2]] = x[0][a * of_x[0] + b * of_x[1] + c];
          }
        }
      }
    }
  }
  std::string perm_;
};

template <bool kByStretch>
struct Trilu : public Moving {
  explicit Trilu(const plugin::OpDesc& op) : Moving(op), upper_(op.AttrInt("upper") != 0), k_(op.AttrInt("k")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t rows = x_[1], n = x_[2];
    for (int64_t i = 0; i < std::ssize(y) && !kByStretch; ++i) {
      const int64_t beyond = i % n - (i / n % rows + k_);
      y[i] = (upper_ ? beyond >= 0 : beyond <= 0) ? x[0][i] : Acc{0};
    }
    for (int64_t row = 0; row < x_[0] * rows && kByStretch; ++row) {
      const std::span<const Acc> from = x[0].subspan(row * n, n);
      const int64_t first = std::clamp<int64_t>(row % rows + k_ + (upper_ ? 0 : 1), 0, n);
      std::ranges::fill(y.subspan(row * n, n), Acc{0});
      const int64_t begin = upper_ ? first : 0, end = upper_ ? n : first;
      std::copy(from.begin() + begin, from.begin() + end, y.begin() + row * n + begin);
    }
  }
  bool upper_;
  int64_t k_;
};

}  // namespace cpu
