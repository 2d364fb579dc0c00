// SPDX-License-Identifier: Apache-2.0
// Images of another size: each element from all of its taps, or all rows first and then the columns of these.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/rows.h"

namespace cpu {

// x [n,c,h,w].
template <bool kRowsFirst>
class Resize {
 public:
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "h", "w", "oh", "ow"}); }
  explicit Resize(const plugin::OpDesc& op)
      : x_(op.inputs()[0].shape),
        y_(op.outputs()[0].shape),
        mode_(op.AttrString("mode")),
        coords_(op.AttrString("coords")),
        rounding_(op.AttrString("rounding")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const std::vector<Taps<Acc>> rows = TapsAlong<Acc>(2), columns = TapsAlong<Acc>(3);
    std::vector<Acc> row(static_cast<size_t>(x_[3]));
    for (int64_t image = 0, to = 0; image < x_[0] * x_[1]; ++image) {
      const Acc* from = x[0].data() + image * x_[2] * x_[3];
      for (const Taps<Acc>& of_row : rows) {
        for (int64_t i = 0; kRowsFirst && i < x_[3]; ++i) {
          row[static_cast<size_t>(i)] = Sum(of_row, [&](int64_t tap) { return from[tap * x_[3] + i]; });
        }
        for (const Taps<Acc>& of_column : columns) {
          y[static_cast<size_t>(to++)] =
              kRowsFirst ? Sum(of_column, [&](int64_t tap) { return row[static_cast<size_t>(tap)]; })
                         : Sum(of_row, of_column, from);
        }
      }
    }
  }

 private:
  template <class Acc>
  struct Taps {
    std::vector<int64_t> places;
    std::vector<Acc> weights;
  };

  template <class Acc, class Element>
  static Acc Sum(const Taps<Acc>& taps, const Element& element) {
    Acc sum = element(taps.places[0]) * taps.weights[0];
    for (size_t k = 1; k < taps.places.size(); ++k) sum += element(taps.places[k]) * taps.weights[k];
    return sum;
  }
  template <class Acc>
  Acc Sum(const Taps<Acc>& rows, const Taps<Acc>& columns, const Acc* from) const {
    Acc sum = -Acc{0};
    for (size_t i = 0; i < rows.places.size(); ++i) {
      for (size_t k = 0; k < columns.places.size(); ++k) {
        sum += from[rows.places[i] * x_[3] + columns.places[k]] * (rows.weights[i] * columns.weights[k]);
      }
    }
    return sum;
  }

  // The coordinate of element i as a fraction of integers.
  struct Fraction {
    int64_t over, under;
  };
  Fraction ExactCoordinate(int64_t i, int64_t from, int64_t to) const {
    if (coords_ == "half_pixel") return {(2 * i + 1) * from - to, 2 * to};
    if (coords_ == "align_corners") return to > 1 ? Fraction{i * (from - 1), to - 1} : Fraction{0, 1};
    return {i * from, to};
  }
  int64_t Nearest(Fraction at) const {
    const auto floor = [](int64_t over, int64_t under) { return over / under - (over % under < 0 ? 1 : 0); };
    if (rounding_ == "floor") return floor(at.over, at.under);
    if (rounding_ == "ceil") return -floor(-at.over, at.under);
    if (rounding_ == "round_prefer_ceil") return floor(2 * at.over + at.under, 2 * at.under);
    return -floor(at.under - 2 * at.over, 2 * at.under);
  }

  // By a factor, or by a division.
  template <class Acc>
  Acc Coordinate(int64_t i, int64_t from, int64_t to) const {
    const bool is_aligned = coords_ == "align_corners", is_centred = coords_ == "half_pixel";
    if (is_aligned && to == 1) return 0;
    const auto over = static_cast<Acc>(is_aligned ? from - 1 : from),
               under = static_cast<Acc>(is_aligned ? to - 1 : to);
    const Acc centre = is_centred ? Acc{0.5} : Acc{0}, place = static_cast<Acc>(i) + centre;
    return (kRowsFirst ? place * over / under : place * (over / under)) - centre;
  }

  template <class Acc>
  std::vector<Taps<Acc>> TapsAlong(size_t axis) const {
    const int64_t from = x_[axis], to = y_[axis];
    std::vector<Taps<Acc>> all;
    for (int64_t i = 0; i < to; ++i) {
      Taps<Acc> taps = mode_ == "nearest"  ? Taps<Acc>{{Nearest(ExactCoordinate(i, from, to))}, {1}}
                       : mode_ == "linear" ? Linear(std::clamp<Acc>(Coordinate<Acc>(i, from, to), 0, from - 1))
                                           : Cubic(Coordinate<Acc>(i, from, to));
      for (int64_t& place : taps.places) place = std::clamp<int64_t>(place, 0, from - 1);
      all.push_back(std::move(taps));
    }
    return all;
  }
  template <class Acc>
  static Taps<Acc> Linear(Acc at) {
    const Acc first = std::floor(at), beyond = at - first;
    const auto place = static_cast<int64_t>(first);
    return {{place, place + 1}, {1 - beyond, beyond}};
  }
  // Keys' function with a = -0.75, of distances up to 1 and up to 2.
  template <class Acc>
  static Taps<Acc> Cubic(Acc at) {
    constexpr auto kA = static_cast<Acc>(-0.75);
    const auto near = [](Acc s) { return ((kA + 2) * s - (kA + 3)) * s * s + 1; };
    const auto far = [](Acc s) { return ((kA * s - 5 * kA) * s + 8 * kA) * s - 4 * kA; };
    const Acc first = std::floor(at), beyond = at - first;
    const auto place = static_cast<int64_t>(first);
    return {{place - 1, place, place + 1, place + 2},
            {far(beyond + 1), near(beyond), near(1 - beyond), far(2 - beyond)}};
  }

  std::vector<int64_t> x_, y_;
  std::string mode_, coords_, rounding_;
};

}  // namespace cpu
