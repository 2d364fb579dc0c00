// SPDX-License-Identifier: Apache-2.0
// The operator resize: images of another size, as Resize of ONNX and interpolate of PyTorch make them. Where an element
// of y lies in x is a fraction of integers, its coordinate, that follows from the extents alone. So the elements of x
// that it is made of, its taps, are exact, as is the one that is nearest. The weights of taps are computed from the
// coordinate, and their errors with them, since kernels compute it in the arithmetic of their sums.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

int64_t FloorOf(int64_t over, int64_t under) {
  return over / under - (over % under < 0 ? 1 : 0);
}

// Coordinates along an axis: element i of y lies at (i step + first) / under, in elements of x.
struct Coordinates {
  Coordinates(const std::string& rule, int64_t from, int64_t to)
      : step(from), under(to), last(from - 1), is_centred(rule == "half_pixel") {
    if (is_centred) step = 2 * from, first = from - to, under = 2 * to;
    if (rule == "align_corners") step = to > 1 ? from - 1 : 0, under = std::max<int64_t>(to - 1, 1);
  }
  int64_t Over(int64_t i) const { return i * step + first; }
  int64_t Within(int64_t i) const { return std::clamp<int64_t>(Over(i), 0, last * under); }

  int64_t step, first = 0, under, last;
  bool is_centred;
};

int64_t NearestTo(const Coordinates& of, const std::string& rounding, int64_t i) {
  const int64_t over = of.Over(i), under = of.under;
  int64_t place = FloorOf(over, under);
  if (rounding == "ceil") place = -FloorOf(-over, under);
  if (rounding == "round_prefer_floor") place = -FloorOf(under - 2 * over, 2 * under);
  if (rounding == "round_prefer_ceil") place = FloorOf(under + 2 * over, 2 * under);
  return std::clamp<int64_t>(place, 0, of.last);
}

// An axis of x, that of y, and one of the taps of an element of y.
struct Resized {
  Axis from, to, taps;
  Coordinates at;
  bool is_cubic;

  // Taps are the integers around the nearest one that have this distance from the coordinate at most, in 64ths. At an
  // integer those whose weight is 0 are taps too, on both sides: a kernel's coordinate may be off to either. So may it
  // be beside one, where another tap of the cubic function weighs less than any error.
  int64_t Reach() const { return is_cubic ? 128 : 65; }
  int64_t Over(int64_t i) const { return is_cubic ? at.Over(i) : at.Within(i); }
  int64_t FirstTap(int64_t i) const { return FloorOf(2 * Over(i) + at.under, 2 * at.under) - taps.extent / 2; }
  // The element of x that is a tap, beyond its edge the one at the edge; -1: none.
  int64_t PlaceOf(int64_t i, int64_t tap) const {
    const bool is_tap = 64 * std::abs(tap * at.under - Over(i)) <= Reach() * at.under;
    return is_tap ? std::clamp<int64_t>(tap, 0, at.last) : -1;
  }
};

Expr TapsOf(Expr x, const Resized& axis) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < axis.to.extent; ++i) {
    for (int64_t k = 0; k < axis.taps.extent; ++k) places.push_back(axis.PlaceOf(i, axis.FirstTap(i) + k));
  }
  return Take(x, axis.from, axis.to + axis.taps, std::move(places));
}

// How far the coordinate is from each tap.
Expr DistanceOf(Definition& d, Graph& graph, const Resized& axis, const char* name) {
  const auto number = [&](int64_t value) { return Const(graph, static_cast<double>(value)); };
  const Coordinates& at = axis.at;
  const Expr scale = number(at.step) / number(at.under), i = Index(graph, axis.to);
  Expr coordinate = at.is_centred ? Strict(0.5 * (2 * i + 1) * scale - 0.5) : i * scale;
  if (!axis.is_cubic) coordinate = Minimum(Maximum(coordinate, number(0)), number(at.last));
  const int64_t before = 2;  // the first tap may lie so far before x
  const Axis numbers = d.FixedAxis(name, at.last + 2 * before + 1);
  const Expr first = At(Index(graph, numbers), numbers, axis.to, [&](int64_t k) { return axis.FirstTap(k) + before; });
  return Abs(Strict(coordinate - (first + Index(graph, axis.taps) - number(before))));
}

// 1 at the tap, 0 at the next ones; or Keys' function (IEEE Trans. ASSP 29, 1981) with a = -0.75.
Expr WeightAt(Expr distance, bool is_cubic) {
  if (!is_cubic) return Max0(1 - distance);
  constexpr double kA = -0.75;
  const Expr near = ((kA + 2) * distance - (kA + 3)) * distance * distance + 1;
  const Expr far = ((kA * distance - 5 * kA) * distance + 8 * kA) * distance - 4 * kA;
  return Select(LessEqual(distance, Const(*distance.graph, 1)), near, far);
}

void Resize(Definition& d) {
  d.SetDoc("y = x with oh rows of ow elements, the nearest ones or the sum of a tap's weight times its element of x");
  const Axis n = d.Axis("n", "images"), c = d.Axis("c", "channels");
  const Axis h = d.Axis("h", "rows of an image", 1), w = d.Axis("w", "elements of a row", 1);
  const Axis oh = d.Axis("oh", "rows of y", 1), ow = d.Axis("ow", "elements of a row of y", 1);
  const std::string mode = d.Choice("mode", {"nearest", "linear", "cubic"}, "what an element of y is made of");
  const std::string coords = d.Choice("coords", {"half_pixel", "align_corners", "asymmetric"},
                                      "where it lies in x: (i + 0.5) h / oh - 0.5, i (h - 1) / (oh - 1), or i h / oh");
  const std::string rounding = d.Choice("rounding", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                                        "what is nearest to that: an integer, which of two as near, or to one side");
  const bool is_nearest = mode == "nearest", is_cubic = mode == "cubic";
  if (d.RefuseIf(!is_nearest && rounding != "round_prefer_floor", "rounding is for mode=nearest")) return;
  const Expr x = d.In("x", n + c + h + w);
  const Coordinates of_rows(coords, h.extent, oh.extent), of_columns(coords, w.extent, ow.extent);
  const Axes all = n + c + oh + ow;
  if (is_nearest) {
    const Expr rows = At(x, h, oh, [&](int64_t i) { return NearestTo(of_rows, rounding, i); });
    d.Out("y", At(rows, w, ow, [&](int64_t i) { return NearestTo(of_columns, rounding, i); }), all);
    return;
  }
  const int64_t taps = is_cubic ? 5 : 3;
  const Resized rows{h, oh, d.FixedAxis("kh", taps), of_rows, is_cubic};
  const Resized columns{w, ow, d.FixedAxis("kw", taps), of_columns, is_cubic};
  const Expr of_row = WeightAt(DistanceOf(d, *x.graph, rows, "first row"), is_cubic);
  const Expr of_column = WeightAt(DistanceOf(d, *x.graph, columns, "first column"), is_cubic);
  // Kernels may leave out elements of weight 0, whatever they are.
  const Expr weight = of_row * of_column, zero = Const(*x.graph, 0);
  const Expr elements = Select(NotEqual(weight, zero), TapsOf(TapsOf(x, rows), columns), zero);
  d.Out("y", Sum(elements * weight, rows.taps + columns.taps), all);
}

ASSAY_OPERATOR(resize, Resize);

}  // namespace
}  // namespace assay
