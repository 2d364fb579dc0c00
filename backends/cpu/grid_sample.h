// SPDX-License-Identifier: Apache-2.0
// Elements of images at places that an operand names: the four around a place at once, or those of two rows first.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/rows.h"

namespace cpu {

// x [n,c,h,w], grid [n,oh,ow,2].
template <bool kRowsFirst>
class GridSample {
 public:
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "h", "w", "oh", "ow"}); }
  explicit GridSample(const plugin::OpDesc& op)
      : x_(op.inputs()[0].shape),
        y_(op.outputs()[0].shape),
        is_nearest_(op.AttrString("mode") == "nearest"),
        padding_(op.AttrString("padding")),
        is_aligned_(op.AttrInt("align_corners") != 0) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t places = y_[2] * y_[3], elements = x_[2] * x_[3];
    for (int64_t image = 0; image < x_[0]; ++image) {
      for (int64_t at = 0; at < places; ++at) {
        const Acc* number = x[1].data() + 2 * (image * places + at);
        const Acc column = Place(number[0], x_[3]), row = Place(number[1], x_[2]);
        for (int64_t channel = image * x_[1]; channel < (image + 1) * x_[1]; ++channel) {
          y[static_cast<size_t>(channel * places + at)] = Sample(x[0].data() + channel * elements, row, column);
        }
      }
    }
  }

 private:
  template <class Acc>
  Acc Place(Acc number, int64_t extent) const {
    const auto size = static_cast<Acc>(extent), last = size - 1, half = static_cast<Acc>(0.5);
    Acc place = 0;
    if (is_aligned_) {
      place = kRowsFirst ? (number + 1) / 2 * last : (number + 1) * (half * last);
    } else {
      place = kRowsFirst ? number * (size / 2) + last / 2 : ((number + 1) * size - 1) / 2;
    }
    if (padding_ == "reflection") place = is_aligned_ ? Mirror(place, Acc{0}, last) : Mirror(place, -half, size);
    return padding_ == "zeros" ? place : std::clamp<Acc>(place, 0, last);
  }
  template <class Acc>
  static Acc Mirror(Acc place, Acc first, Acc span) {
    if (span == 0) return first;
    const Acc distance = std::fabs(place - first), rest = std::fmod(distance, span);
    return first + (std::fmod(std::floor(distance / span), Acc{2}) == 0 ? rest : span - rest);
  }

  template <class Acc>
  Acc ElementAt(const Acc* x, Acc row, Acc column) const {
    const bool is_inside = row >= 0 && column >= 0 && row < static_cast<Acc>(x_[2]) && column < static_cast<Acc>(x_[3]);
    return is_inside ? x[static_cast<int64_t>(row) * x_[3] + static_cast<int64_t>(column)] : Acc{0};
  }
  // Elements of weight 0 are not read: they may be NaN.
  template <class Acc>
  static Acc Times(Acc weight, Acc element) {
    return weight == 0 ? Acc{0} : weight * element;
  }
  template <class Acc>
  Acc Sample(const Acc* x, Acc row, Acc column) const {
    if (is_nearest_) return ElementAt(x, std::nearbyint(row), std::nearbyint(column));
    const Acc above = std::floor(row), before = std::floor(column);
    const Acc down = row - above, right = column - before;
    const auto of_row = [&](Acc at) {
      return Times(1 - right, ElementAt(x, at, before)) + Times(right, ElementAt(x, at, before + 1));
    };
    if (kRowsFirst) return Times(1 - down, of_row(above)) + Times(down, of_row(above + 1));
    return Times((1 - down) * (1 - right), ElementAt(x, above, before)) +
           Times((1 - down) * right, ElementAt(x, above, before + 1)) +
           Times(down * (1 - right), ElementAt(x, above + 1, before)) +
           Times(down * right, ElementAt(x, above + 1, before + 1));
  }

  std::vector<int64_t> x_, y_;
  bool is_nearest_;
  std::string padding_;
  bool is_aligned_;
};

}  // namespace cpu
