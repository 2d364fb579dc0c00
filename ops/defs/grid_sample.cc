// SPDX-License-Identifier: Apache-2.0
// The operator grid_sample: elements of images at places that an operand names, as GridSample of ONNX and grid_sample
// of PyTorch have them. A place is computed of data, so that which elements are next to it may be uncertain. The
// formula is continuous all the same: every element has a weight, which is 0 from a distance of 1 on.
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// An axis of the images and where samples lie along it.
struct SampledAxis {
  Axis along;
  Expr place;
};

// Numbers -1 and 1 of the grid are the middles of the first and the last element, or their outer edges.
Expr PlaceOf(Expr number, double extent, bool aligned) {
  if (aligned) return (number + 1) * (0.5 * (extent - 1));
  return 0.5 * ((number + 1) * extent - 1);
}

// Distances from the first end of up to 4 spans go to and fro between both ends.
Expr Reflect(Expr place, double extent, bool aligned) {
  const double first = aligned ? 0 : -0.5, span = aligned ? extent - 1 : extent;
  const Expr beyond = Abs(Strict(Abs(Strict(place - first)) - 2 * span));
  return Strict(Strict(span - Abs(Strict(span - beyond))) + first);
}

// Elements within a distance of 1, each by 1 less its distance. Kernels may leave out those of weight 0.
Expr Interpolate(Expr x, const SampledAxis& axis) {
  Graph& graph = *x.graph;
  const Expr weight = Max0(Strict(1 - Abs(Strict(axis.place - Index(graph, axis.along))))), zero = Const(graph, 0);
  return Sum(Select(NotEqual(weight, zero), x, zero) * weight, axis.along);
}

// The element closest to the place, of two the one of even number; 0 where there is none.
Expr PickNearest(Definition& d, Expr x, const SampledAxis& rows, const SampledAxis& columns) {
  Graph& graph = *x.graph;
  const auto last = [](const Axis& axis) { return static_cast<double>(axis.extent - 1); };
  const Axis elements = d.FixedAxis("h*w", rows.along.extent * columns.along.extent);
  const auto within = [&](const SampledAxis& axis, Expr nearest) {
    return And(LessEqual(Const(graph, 0), nearest), LessEqual(nearest, Const(graph, last(axis.along))));
  };
  const auto clamp = [&](const SampledAxis& axis, Expr nearest) {
    return Minimum(Max0(nearest), Const(graph, last(axis.along)));
  };
  const Expr row = Nearest(rows.place), column = Nearest(columns.place);
  const Expr number = static_cast<double>(columns.along.extent) * clamp(rows, row) + clamp(columns, column);
  const Expr picked = Gather(Reshape(x, rows.along + columns.along, elements), elements, number);
  return Select(And(within(rows, row), within(columns, column)), picked, Const(graph, 0));
}

void GridSample(Definition& d) {
  d.SetDoc(
      "y = x at the places of the grid: the sum of the four elements around one, each by the product of 1 less its "
      "distances along rows and columns, or the nearest element");
  const Axis n = d.Axis("n", "images"), c = d.Axis("c", "channels");
  const Axis h = d.Axis("h", "rows of an image", 1), w = d.Axis("w", "elements of a row", 1);
  const Axis oh = d.Axis("oh", "rows of y"), ow = d.Axis("ow", "elements of a row of y");
  const std::string mode = d.Choice("mode", {"linear", "nearest"}, "what an element of y is made of");
  const std::string padding = d.Choice("padding", {"zeros", "border", "reflection"},
                                       "what lies beside an image: zeros, its edge, or the image mirrored at its edge");
  const bool aligned =
      d.Flag("align_corners", "1: -1 and 1 are the middles of the first and last element, else their outer edges").on;
  const Axis two = d.FixedAxis("2", 2), one = d.FixedAxis("1", 1);
  const Expr x = d.In("x", n + c + h + w), grid = d.In("grid", n + oh + ow + two, Role::kPosition);
  d.KeepWithin(padding == "reflection" ? 7 : 1e6);  // reflections up to that are in the formula
  const auto sampled = [&](const Axis& along, int64_t number) {
    const auto extent = static_cast<double>(along.extent);
    const Expr place = PlaceOf(Sum(At(grid, two, one, [&](int64_t) { return number; }), one), extent, aligned);
    if (padding == "zeros") return SampledAxis{along, place};
    const Expr inside = padding == "reflection" ? Reflect(place, extent, aligned) : place;
    return SampledAxis{along, Minimum(Max0(inside), Const(*x.graph, extent - 1))};
  };
  const SampledAxis columns = sampled(w, 0), rows = sampled(h, 1);
  const bool is_nearest = mode == "nearest";
  d.Out("y", is_nearest ? PickNearest(d, x, rows, columns) : Interpolate(Interpolate(x, columns), rows),
        n + c + oh + ow);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-bf16"});
}

ASSAY_OPERATOR(grid_sample, GridSample);

}  // namespace
}  // namespace assay
