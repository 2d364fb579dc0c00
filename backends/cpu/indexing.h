// SPDX-License-Identifier: Apache-2.0
// Rows and columns at places that are data.
#pragma once

#include "backends/cpu/experts.h"

namespace cpu {

// table [v,d], tokens [b,l] -> y [b,l,d]: token by token, or column by column of the table.
template <bool kByColumn>
struct Embedding : public Experts {
  explicit Embedding(const plugin::OpDesc& op) : Experts(op), scale_(op.AttrFloat("scale")) {}
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"v", "b", "l", "d"}); }
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 1, op.inputs()[0].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t v = Extent(0, 0), d = Extent(0, 1), tokens = std::ssize(x[1]);
    for (int64_t i = 0; i < tokens * d; ++i) {
      const int64_t token = kByColumn ? i % tokens : i / d, column = kByColumn ? i / tokens : i % d;
      y[token * d + column] = static_cast<Acc>(scale_) * x[0][Place(x[1][token], v) * d + column];
    }
  }
  double scale_;
};

// x [rows,n], indices [k] -> y [k,n], or with axis=1 [rows,k]: element by element, or each index for all that it names.
template <bool kByIndex>
struct IndexSelect : public Experts {
  explicit IndexSelect(const plugin::OpDesc& op) : Experts(op), of_rows_(op.AttrString("axis") == "0") {}
  static constexpr int kMath = 0;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n", "k"}); }
  static bool Takes(const plugin::OpDesc& op) {
    return TakesPlaces(op, 1, op.inputs()[0].shape[op.AttrString("axis") == "0" ? 0 : 1]);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t rows = Extent(0, 0), n = Extent(0, 1), k = Extent(1, 0), others = of_rows_ ? n : rows;
    for (int64_t i = 0; i < k * others; ++i) {
      const int64_t index = kByIndex ? i / others : i % k, other = kByIndex ? i % others : i / k;
      const int64_t from = Place(x[1][index], of_rows_ ? rows : n);
      y[of_rows_ ? index * n + other : other * k + index] = x[0][of_rows_ ? from * n + other : other * n + from];
    }
  }
  bool of_rows_;
};

}  // namespace cpu
