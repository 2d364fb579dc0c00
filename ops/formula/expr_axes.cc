// SPDX-License-Identifier: Apache-2.0
// Expressions that go along an axis of their operand: reductions, recurrences, selections.
#include "ops/formula/expr_parts.h"
#include "ops/formula/formula_error.h"

namespace assay::formula {
namespace {

// Requires that the operand has the axis.
void RequireAxis(std::string_view name, Expr x, Axis axis) {
  RequireOneGraph(name, {x});
  Require(Has(x.node().axes, axis.id), "{}: goes along {}, but its operand has the axes {}. Take one of these", name,
          TextOf(*x.graph, axis), TextOf(x));
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

Expr Reduction(Kind kind, Expr x, const Axes& axes, Steps steps = Steps::kPlain) {
  RequireOneGraph(NameOf(kind, steps), {x});
  const AxisSet reduced = axes.Set();
  Require(reduced != 0, "{}: no axis is named along which it goes; name at least one of {}", NameOf(kind, steps),
          TextOf(x));
  Require((reduced & ~x.node().axes) == 0, "{}: goes along {}, but its operand has the axes {}. Take some of these",
          NameOf(kind, steps), AxesText(*x.graph, reduced), TextOf(x));
  return Append(*x.graph, {.kind = kind,
                           .steps = steps,
                           .non_negative = x.node().non_negative,
                           .args = {x.id},
                           .axes = x.node().axes & ~reduced,
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
Expr BelowMax(Expr x, const Axes& axes) {
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

Selection TopK(Expr x, Axis from, Axis to, const SelectionOrder& order) {
  RequireAxis("TopK", x, from);
  Require(!Has(x.node().axes, to.id),
          "TopK: what is selected stands along {}, which its operand has too; make an axis of its own for it",
          TextOf(*x.graph, to));
  Require(to.extent <= from.extent,
          "TopK: {} numbers are selected of {}; refuse that with d.RefuseIf, and return before the selection",
          to.extent, from.extent);
  Node node{.kind = Kind::kTopK,
            .non_negative = x.node().non_negative,
            .args = {x.id},
            .axes = (x.node().axes & ~SetOf(from.id)) | SetOf(to.id),
            .axis = to.id,
            .from_axis = from.id,
            .smallest = order.smallest,
            .any_tie = order.any_tie};
  Node places = node;
  places.places = places.non_negative = true;
  const Expr values = Append(*x.graph, std::move(node));
  return {values, Append(*x.graph, std::move(places))};
}

Expr At(Expr x, Axis from, Axis to, const std::function<int64_t(int64_t)>& index) {
  Node node{
      .kind = Kind::kAt, .non_negative = x.node().non_negative, .args = {x.id}, .axis = to.id, .from_axis = from.id};
  RequireAxis("At", x, from);
  Require(from.id == to.id || !Has(x.node().axes, to.id),
          "At: its result has {}, which its operand has too; take that axis for both, or another one",
          TextOf(*x.graph, to));
  node.axes = (x.node().axes & ~SetOf(from.id)) | SetOf(to.id);
  for (int64_t i = 0; i < to.extent; ++i) {
    const int64_t at = index(i);
    Require(at >= -1 && at < from.extent, "At: the place of {} along {} is {}; places are -1, for zero, and 0 to {}", i,
            TextOf(*x.graph, to), at, from.extent - 1);
    node.index.push_back(at);
  }
  return Append(*x.graph, std::move(node));
}

Expr Gather(Expr x, Axis from, Expr index) {
  RequireAxis("Gather", x, from);
  RequireOneGraph("Gather", {x, index});
  const AxisSet axes = x.node().axes & ~SetOf(from.id), places = index.node().axes;
  Require(
      (x.node().axes & places) == 0,
      "Gather: the places have the axes {}, of which its operand has {} too. A Gather takes the same places for all "
      "of these: give the places axes of their own, or select with Index, as Sum(Select(Less(...), ...), n) does",
      AxesText(*x.graph, places), AxesText(*x.graph, x.node().axes & places));
  return Append(*x.graph, {.kind = Kind::kGather,
                           .non_negative = x.node().non_negative,
                           .args = {x.id, index.id},
                           .axes = axes | places,
                           .reduced = places,
                           .from_axis = from.id});
}

Expr ScatterAdd(Expr base, Expr updates, Expr index, Axis to) {
  RequireOneGraph("ScatterAdd", {base, updates, index});
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
  return Append(*base.graph, {.kind = Kind::kScatterAdd,
                              .non_negative = base.node().non_negative && updates.node().non_negative,
                              .args = {base.id, updates.id, index.id},
                              .axes = axes,
                              .reduced = places,
                              .axis = to.id});
}

}  // namespace assay::formula
