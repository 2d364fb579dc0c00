// SPDX-License-Identifier: Apache-2.0
// The largest or smallest elements of rows, in order, and their places: by sorting the whole row, or from a heap of it.
// NaN counts as larger than any number. Of equal elements that with the lower place stands first.
#pragma once

#include <algorithm>
#include <numeric>

#include "backends/cpu/rows.h"

namespace cpu {

// Whether the element at a stands before that at b.
template <class Acc>
struct StandsBefore {
  std::span<const Acc> x;
  bool descending;
  bool operator()(int64_t a, int64_t b) const {
    const Acc first = x[static_cast<size_t>(descending ? a : b)], second = x[static_cast<size_t>(descending ? b : a)];
    const bool is_nan = first != first;
    if (is_nan != (second != second)) return is_nan;
    if (first != second && !is_nan) return first > second;
    return a < b;
  }
};

template <bool kHeap>
class Selection {
 public:
  static void IgnoreShapes(const plugin::OpDesc& op) {
    op.MayIgnore({"rows", "n", "k", "tie"});  // the first of equals is as right where any is
  }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static size_t Outputs(const plugin::OpDesc& op) { return op.name() == "argsort" ? 1 : 2; }
  static constexpr bool kIntegers = true;
  // Places travel as numbers of the accumulator's type: f32 has all of them up to 2^24.
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::Tensor& x = op.inputs()[0];
    return plugin::IsFloat(x.dtype) && plugin::IsInteger(op.outputs().back().dtype) &&
           (x.dtype == plugin::kF64 || x.shape.back() <= int64_t{1} << 24);
  }
  explicit Selection(const plugin::OpDesc& op)
      : descending_(op.name() != "top_k" ? op.AttrInt("descending") != 0 : op.AttrInt("smallest") == 0) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    std::vector<int64_t> places(x[0].size());
    std::iota(places.begin(), places.end(), int64_t{0});
    const StandsBefore<Acc> before{x[0], descending_};
    const auto ranks = std::ssize(y[0]);
    if (kHeap) {
      std::partial_sort(places.begin(), places.begin() + ranks, places.end(), before);
    } else {
      std::stable_sort(places.begin(), places.end(), before);
    }
    for (int64_t k = 0; k < ranks; ++k) {
      const auto rank = static_cast<size_t>(k);
      if (y.size() > 1) y[0][rank] = x[0][static_cast<size_t>(places[rank])];
      y.back()[rank] = static_cast<Acc>(places[rank]);
    }
  }

 private:
  bool descending_;
};

}  // namespace cpu
