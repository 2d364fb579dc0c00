// SPDX-License-Identifier: Apache-2.0
// Expressions that go along an axis of their operand: reductions, recurrences, selections.
#include <cmath>
#include <numeric>

#include "ops/formula/expr_parts.h"
#include "ops/formula/formula_error.h"

namespace assay::formula {
namespace {

// Elements of axes; a double, as many long axes have more than an integer holds.
double CountElements(const Axes& axes) {
  double elements = 1;
  for (const Axis axis : axes.list) elements *= static_cast<double>(axis.extent);
  return elements;
}

// Each place that a definition states is kept.
void RequireRoom(std::string_view name, const Graph& graph, double more) {
  constexpr double kMostPlaces = 1 << 26;
  double places = more;
  for (const Node& node : graph.nodes) places += static_cast<double>(node.index.size());
  Require(places <= kMostPlaces,
          "{}: the definition would keep {:.3g} places of elements, at most {:.3g}; take smaller extents", name, places,
          kMostPlaces);
}

// Requires that the operand has the axis.
void RequireAxis(std::string_view name, Expr x, Axis axis) {
  RequireOneGraph(name, {x});
  Require(Has(x.node().axes, axis.id), "{}: goes along {}, but its operand has the axes {}. Take one of these", name,
          TextOf(*x.graph, axis), TextOf(x));
}

// Requires that a place is never a fraction.
void RequireIntegers(std::string_view name, Expr index) {
  Require(
      index.node().numbers != Numbers::kReal,
      "{}: the places are real numbers, which may be fractions. Take places of a TopK, operands of d.InPlaces or of "
      "integer types, or sums, differences and products of these, of Index and of conditions",
      name);
}

// The name of a reduction as authors write it.
std::string_view NameOf(Kind kind, Steps steps) {
  switch (kind) {
    case Kind::kProd:
      return "Prod";
    case Kind::kMax:
      return "Max";
    case Kind::kMin:
      return "Min";
    default:
      return steps == Steps::kRescaled ? "RescaledSum" : "Sum";
  }
}

// The result that NumPy has without a single term. Nothing is the largest of none, unless there are no results either,
// or it is asked whether any or all of no conditions hold.
Expr ReduceNothing(Kind kind, Graph& graph, AxisSet axes, AxisSet reduced, Numbers of) {
  const bool is_extreme = kind == Kind::kMax || kind == Kind::kMin;
  if (is_extreme && of == Numbers::kCondition) return ConstAlong(graph, kind == Kind::kMin ? 1 : 0, axes);
  if (is_extreme && graph.ExtentOf(axes) > 0 && graph.refusal.empty()) {
    graph.refusal = fmt::format("{} has no elements, so that there is no {} along it", AxesText(graph, reduced),
                                NameOf(kind, Steps::kPlain));
  }
  return ConstAlong(graph, kind == Kind::kSum ? 0 : kind == Kind::kProd ? 1 : std::nan(""), axes);
}

Expr Reduction(Kind kind, Expr x, const Axes& axes, Steps steps = Steps::kPlain) {
  RequireOneGraph(NameOf(kind, steps), {x});
  const AxisSet reduced = axes.Set();
  Require(reduced != 0, "{}: no axis is named along which it goes; name at least one of {}", NameOf(kind, steps),
          TextOf(x));
  Require((reduced & ~x.node().axes) == 0, "{}: goes along {}, but its operand has the axes {}. Take some of these",
          NameOf(kind, steps), AxesText(*x.graph, reduced), TextOf(x));
  const AxisSet kept = x.node().axes & ~reduced;
  if (x.graph->ExtentOf(reduced) == 0) return ReduceNothing(kind, *x.graph, kept, reduced, x.node().numbers);
  return Append(*x.graph, {.kind = kind,
                           .steps = steps,
                           .non_negative = x.node().non_negative,
                           .args = {x.id},
                           .axes = kept,
                           .reduced = reduced});
}

Expr Recurrence(std::vector<int> args, Graph& graph, AxisSet axes, bool non_negative, Axis axis) {
  return Append(graph, {.kind = Kind::kRecur,
                        .non_negative = non_negative,
                        .args = std::move(args),
                        .axes = axes | SetOf(axis.id),
                        .axis = axis.id});
}

}  // namespace

Expr Recomputed(Expr result) {
  RequireOneGraph("Recomputed", {result});
  Node& node = result.graph->nodes[static_cast<size_t>(result.id)];
  if (node.kind == Kind::kConst) return result;  // that of no terms
  Require(
      IsReduction(node.kind),
      "Recomputed: takes the result of a reduction: Sum, Prod, Max or Min. Of a mean write Recomputed(Sum(...)) / n");
  node.recomputed = true;
  return result;
}

Expr Sum(Expr x, const Axes& axes) {
  return Reduction(Kind::kSum, x, axes);
}
Expr RescaledSum(Expr x, const Axes& axes) {
  return Reduction(Kind::kSum, x, axes, Steps::kRescaled);
}
Expr Mean(Expr x, const Axes& axes) {
  RequireOneGraph("Mean", {x});
  return Sum(x, axes) / static_cast<double>(x.graph->ExtentOf(axes.Set()));
}
Expr UpdatedMean(Expr x, const Axes& axes) {
  const Expr mean = Mean(x, axes);
  mean.graph->nodes[static_cast<size_t>(mean.id)].updated = true;
  return mean;
}
Expr Prod(Expr x, const Axes& axes) {
  return Reduction(Kind::kProd, x, axes);
}
Expr Max(Expr x, const Axes& axes) {
  return Reduction(Kind::kMax, x, axes);
}
Expr Min(Expr x, const Axes& axes) {
  return Reduction(Kind::kMin, x, axes);
}
Expr MaxOrLowest(Expr x, const Axes& axes) {
  RequireOneGraph("MaxOrLowest", {x});
  if (x.graph->ExtentOf(axes.Set()) > 0) return Max(x, axes);
  return ConstAlong(*x.graph, -HUGE_VAL, x.node().axes & ~axes.Set());
}
Expr BelowMax(Expr x, const Axes& axes) {
  RequireOneGraph("BelowMax", {x});
  if (x.graph->ExtentOf(axes.Set()) == 0) return x;  // which has no elements either
  const Expr distance = Strict(Max(x, axes) - x);
  distance.graph->nodes[static_cast<size_t>(distance.id)].non_negative = true;
  return distance;
}
Expr Contraction(Expr x, Expr y, const Axes& axes) {
  return Sum(x * y, axes);
}

Expr CumSum(Expr x, Axis axis) {
  RequireAxis("CumSum", x, axis);
  return Recurrence({x.id}, *x.graph, x.node().axes, x.node().non_negative, axis);
}
Expr Recur(Expr a, Expr b, Axis axis) {
  RequireOneGraph("Recur", {a, b});
  Require(Has(a.node().axes | b.node().axes, axis.id),
          "Recur: goes along {}, but its operands have the axes {} and {}. Take one of these", TextOf(*a.graph, axis),
          TextOf(a), TextOf(b));
  return Recurrence({a.id, b.id}, *a.graph, a.node().axes | b.node().axes,
                    a.node().non_negative && b.node().non_negative, axis);
}

namespace {

Node TopKNode(Expr x, Axis from, Axis to, const SelectionOrder& order) {
  RequireAxis("TopK", x, from);
  Require(!Has(x.node().axes, to.id),
          "TopK: what is selected stands along {}, which its operand has too; make an axis of its own for it",
          TextOf(*x.graph, to));
  Require(to.extent <= from.extent,
          "TopK: {} numbers are selected of {}; refuse that with d.RefuseIf, and return before the selection",
          to.extent, from.extent);
  return {.kind = Kind::kTopK,
          .non_negative = x.node().non_negative,
          .args = {x.id},
          .axes = (x.node().axes & ~SetOf(from.id)) | SetOf(to.id),
          .axis = to.id,
          .from_axis = from.id,
          .smallest = order.smallest,
          .any_tie = order.any_tie};
}

}  // namespace

Expr TopKPlaces(Expr x, Axis from, Axis to, const SelectionOrder& order) {
  Node places = TopKNode(x, from, to, order);
  places.places = places.non_negative = true;
  return Append(*x.graph, std::move(places));
}
Selection TopK(Expr x, Axis from, Axis to, const SelectionOrder& order) {
  const Expr values = Append(*x.graph, TopKNode(x, from, to, order));
  return {values, TopKPlaces(x, from, to, order)};
}

Expr At(Expr x, Axis from, Axis to, const std::function<int64_t(int64_t)>& index) {
  Node node{
      .kind = Kind::kAt, .non_negative = x.node().non_negative, .args = {x.id}, .axis = to.id, .from_axis = from.id};
  RequireAxis("At", x, from);
  Require(from.id == to.id || !Has(x.node().axes, to.id),
          "At: its result has {}, which its operand has too; take that axis for both, or another one",
          TextOf(*x.graph, to));
  node.axes = (x.node().axes & ~SetOf(from.id)) | SetOf(to.id);
  RequireRoom("At", *x.graph, static_cast<double>(to.extent));
  node.index.reserve(static_cast<size_t>(to.extent));
  for (int64_t i = 0; i < to.extent; ++i) {
    const int64_t at = index(i);
    Require(at >= -1 && at < from.extent, "At: the place of {} along {} is {}; places are -1, for zero, and 0 to {}", i,
            TextOf(*x.graph, to), at, from.extent - 1);
    node.index.push_back(at);
  }
  if (from.extent == 0) return ConstAlong(*x.graph, 0, node.axes);
  return Append(*x.graph, std::move(node));
}

namespace {

// `name`: of the function that the author has called.
Expr Rearrange(std::string_view name, Expr x, const Axes& from, const Axes& to, std::vector<int64_t> places) {
  for (const Axis axis : from.list) RequireAxis(name, x, axis);
  const Graph& graph = *x.graph;
  const AxisSet gone = from.Set(), come = to.Set(), rest = x.node().axes & ~gone;
  Require(gone != 0 && come != 0 && (come & x.node().axes) == 0,
          "{}: makes {} of {}, of an operand with the axes {}; name axes of it, and others that it lacks", name,
          AxesText(graph, come), AxesText(graph, gone), TextOf(x));
  if (graph.ExtentOf(gone) == 0) return ConstAlong(*x.graph, 0, rest | come);
  RequireRoom(name, graph, static_cast<double>(places.size()));
  Node node{.kind = Kind::kAt,
            .non_negative = x.node().non_negative,
            .args = {x.id},
            .axes = rest | come,
            .axis = to.list[0].id,
            .from_axis = from.list[0].id,
            .index = std::move(places)};
  for (size_t k = 1; k < to.list.size(); ++k) node.more_axes.push_back(to.list[k].id);
  for (size_t k = 1; k < from.list.size(); ++k) node.more_from.push_back(from.list[k].id);
  node.reduced = SetOf(node.more_axes) | SetOf(node.more_from);
  return Append(*x.graph, std::move(node));
}

}  // namespace

Expr Take(Expr x, const Axes& from, const Axes& to, std::vector<int64_t> places) {
  const double elements = CountElements(from);
  Require(static_cast<double>(places.size()) == CountElements(to),
          "Take: has {} places for {:.0f} elements; give one for each", places.size(), CountElements(to));
  for (const int64_t place : places) {
    Require(place >= -1 && static_cast<double>(place) < elements,
            "Take: a place is {}; places are -1, for zero, and 0 to {:.0f}", place, elements - 1);
  }
  return Rearrange("Take", x, from, to, std::move(places));
}

Expr Reshape(Expr x, const Axes& from, const Axes& to) {
  Require(CountElements(from) == CountElements(to), "Reshape: makes {:.0f} elements of {:.0f}; give axes of as many",
          CountElements(to), CountElements(from));
  RequireRoom("Reshape", *x.graph, CountElements(to));
  std::vector<int64_t> places(static_cast<size_t>(CountElements(to)));
  std::iota(places.begin(), places.end(), int64_t{0});
  return Rearrange("Reshape", x, from, to, std::move(places));
}

Expr Gather(Expr x, Axis from, Expr index) {
  RequireAxis("Gather", x, from);
  RequireOneGraph("Gather", {x, index});
  RequireIntegers("Gather", index);
  RefusePlacesInNothing(index, from);
  const AxisSet axes = x.node().axes & ~SetOf(from.id), places = index.node().axes;
  return Append(*x.graph, {.kind = Kind::kGather,
                           .non_negative = x.node().non_negative,
                           .args = {x.id, index.id},
                           .axes = axes | places,
                           .reduced = places,
                           .from_axis = from.id});
}

Expr ScatterAdd(Expr base, Expr updates, Expr index, Axis to) {
  RequireOneGraph("ScatterAdd", {base, updates, index});
  RequireIntegers("ScatterAdd", index);
  const AxisSet places = index.node().axes, axes = (updates.node().axes & ~places) | SetOf(to.id);
  Require((places & ~updates.node().axes) == 0,
          "ScatterAdd: the places have the axes {}, the numbers that are added {}. Each of these needs a place: the "
          "places' axes must be among theirs",
          AxesText(*base.graph, places), TextOf(updates));
  Require(!Has(updates.node().axes, to.id),
          "ScatterAdd: adds along {}, which the added numbers have too; give them an axis of their own",
          TextOf(*base.graph, to));
  Require(base.node().axes == axes,
          "ScatterAdd: adds to what has the axes {}; numbers {} at places {} need one of the axes {}", TextOf(base),
          TextOf(updates), AxesText(*base.graph, places), AxesText(*base.graph, axes));
  if (base.graph->ExtentOf(updates.node().axes) == 0) return base;
  return Append(*base.graph, {.kind = Kind::kScatterAdd,
                              .non_negative = base.node().non_negative && updates.node().non_negative,
                              .args = {base.id, updates.id, index.id},
                              .axes = axes,
                              .reduced = places,
                              .axis = to.id});
}

}  // namespace assay::formula
