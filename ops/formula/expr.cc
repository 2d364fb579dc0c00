// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/expr.h"

#include <algorithm>

#include "ops/formula/formula_error.h"
#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

Expr Append(Graph& graph, Node node) {
  graph.nodes.push_back(std::move(node));
  return {&graph, static_cast<int>(graph.nodes.size()) - 1};
}

bool IsNonNegative(Function function, const std::vector<Expr>& x) {
  const auto all = [&] {
    for (const Expr& one : x) {
      if (!one.node().non_negative) return false;
    }
    return true;
  };
  switch (function) {
    case Function::kMul:
      return x[0].id == x[1].id || all();
    case Function::kAdd:
    case Function::kDiv:
    case Function::kMinimum:
    case Function::kErf:
    case Function::kTanh:
    case Function::kLog1p:
      return all();
    case Function::kMaximum:
      return x[0].node().non_negative || x[1].node().non_negative;
    case Function::kAbs:
    case Function::kLess:
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kExp:
    case Function::kSigmoid:
      return true;
    case Function::kSelect:
      return x[1].node().non_negative && x[2].node().non_negative;
    default:
      return false;
  }
}

// Below which no result lies, of one that is non-negative.
double LeastOf(Function function, const std::vector<Expr>& x) {
  if (function == Function::kAdd) return x[0].node().least + x[1].node().least;
  if (function == Function::kMaximum) return std::max(x[0].node().least, x[1].node().least);
  return 0;
}

// Of operands of what `name` says.
void RequireOneGraph(std::string_view name, const std::vector<Expr>& x) {
  for (const Expr& one : x) {
    Require(one.graph != nullptr && one.graph == x[0].graph,
            "{}: an operand is no expression of this definition. Expressions are made by d.In, Const and functions of "
            "them, anew each time that the definition runs; keep none in a static variable",
            name);
  }
}

std::string TextOf(const Graph& graph, Axis axis) {
  return AxesText(graph, SetOf(axis.id));
}

std::string TextOf(Expr x) {
  return AxesText(*x.graph, x.node().axes);
}

// A tensor has no axis twice.
void RequireOnce(const Graph& graph, std::string_view what, std::string_view name, const Axes& axes) {
  Require(std::popcount(axes.Set()) == std::ssize(axes.list), "{} {}: names an axis of {} twice; name each once", what,
          name, AxesText(graph, axes.Set()));
}

// What goes along an axis of its operand.
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

Expr Map(Function function, const std::vector<Expr>& x) {
  RequireOneGraph(Info(function).name, x);
  Node node{.kind = Kind::kMap, .function = function};
  node.non_negative = IsNonNegative(function, x);
  if (node.non_negative) node.least = LeastOf(function, x);
  for (const Expr& one : x) {
    node.args.push_back(one.id);
    node.axes |= one.node().axes;
  }
  return Append(*x[0].graph, std::move(node));
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

AxisSet Axes::Set() const {
  AxisSet set = 0;
  for (const Axis axis : list) {
    Require(axis.id >= 0, "an axis is used that d.Axis and d.DerivedAxis have not made; take one that they return");
    set |= SetOf(axis.id);
  }
  return set;
}

Axes operator+(Axes left, const Axes& right) {
  left.list.insert(left.list.end(), right.list.begin(), right.list.end());
  return left;
}

Axis AddAxis(Graph& graph, std::string name, int64_t extent) {
  Require(std::ssize(graph.axes) < kMaxAxes, "axis {}: a formula has at most {} axes; join some of them", name,
          kMaxAxes);
  Require(extent >= 1, "axis {}: its extent is {}; extents are positive", name, extent);
  graph.axes.push_back({std::move(name), extent});
  return {static_cast<int>(graph.axes.size()) - 1, extent};
}

Expr AddInput(Graph& graph, std::string name, const Axes& axes) {
  RequireOnce(graph, "input", name, axes);
  InputInfo info{std::move(name), {}};
  for (const Axis axis : axes.list) info.axes.push_back(axis.id);
  graph.inputs.push_back(std::move(info));
  const int input = static_cast<int>(graph.inputs.size()) - 1;
  return Append(graph, {.kind = Kind::kIn, .axes = axes.Set(), .input = input});
}

Expr AddPlaces(Graph& graph, std::string name, const Axes& axes, Axis along) {
  const Expr places = AddInput(graph, std::move(name), axes);
  graph.inputs.back().places_along = along.id;
  return places;
}

void RequireOutput(const Graph& graph, std::string_view name, Expr value, const Axes& axes) {
  Require(value.graph == &graph, "output {}: its value is no expression of this definition", name);
  RequireOnce(graph, "output", name, axes);
  Require(value.node().axes == axes.Set(),
          "output {}: is stated along {}, but its value has the axes {}. State all of these and no others", name,
          AxesText(graph, axes.Set()), TextOf(value));
}

void AddOutput(Graph& graph, std::string name, Expr value, const Axes& axes) {
  RequireOutput(graph, name, value, axes);
  OutputInfo info{std::move(name), {}, value.id};
  for (const Axis axis : axes.list) info.axes.push_back(axis.id);
  graph.outputs.push_back(std::move(info));
}

Expr Const(Graph& graph, double value) {
  return Append(graph,
                {.kind = Kind::kConst, .non_negative = value >= 0, .least = std::max(value, 0.0), .constant = value});
}

Expr Index(Graph& graph, Axis axis) {
  return Append(graph, {.kind = Kind::kIndex, .non_negative = true, .axes = SetOf(axis.id), .axis = axis.id});
}

Expr operator+(Expr x, Expr y) {
  return Map(Function::kAdd, {x, y});
}
Expr operator-(Expr x, Expr y) {
  return Map(Function::kSub, {x, y});
}
Expr operator*(Expr x, Expr y) {
  return Map(Function::kMul, {x, y});
}
Expr operator/(Expr x, Expr y) {
  return Map(Function::kDiv, {x, y});
}
Expr operator-(Expr x) {
  return Map(Function::kNegate, {x});
}
Expr operator+(Expr x, double y) {
  return x + Const(*x.graph, y);
}
Expr operator+(double x, Expr y) {
  return Const(*y.graph, x) + y;
}
Expr operator-(Expr x, double y) {
  return x - Const(*x.graph, y);
}
Expr operator-(double x, Expr y) {
  return Const(*y.graph, x) - y;
}
Expr operator*(double x, Expr y) {
  return Const(*y.graph, x) * y;
}
Expr operator*(Expr x, double y) {
  return x * Const(*x.graph, y);
}
Expr operator/(double x, Expr y) {
  return Const(*y.graph, x) / y;
}
Expr operator/(Expr x, double y) {
  return x / Const(*x.graph, y);
}

Expr Strict(Expr sum) {
  RequireOneGraph("Strict", {sum});
  Node& node = sum.graph->nodes[static_cast<size_t>(sum.id)];
  Require(node.kind == Kind::kMap && Info(node.function).rounding == Rounding::kAdd,
          "Strict: takes a sum or a difference, as Strict(x - y); what it was given is neither");
  node.strictness = Strictness::kStrict;
  return sum;
}

Expr Recomputed(Expr result) {
  RequireOneGraph("Recomputed", {result});
  Node& node = result.graph->nodes[static_cast<size_t>(result.id)];
  Require(
      IsReduction(node.kind),
      "Recomputed: takes the result of a reduction: Sum, Prod, Max or Min. Of a mean write Recomputed(Sum(...)) / n");
  node.recomputed = true;
  return result;
}

Expr Exp(Expr x) {
  return Map(Function::kExp, {x});
}
Expr Log(Expr x) {
  return Map(Function::kLog, {x});
}
Expr Log1p(Expr x) {
  return Map(Function::kLog1p, {x});
}
Expr Tanh(Expr x) {
  return Map(Function::kTanh, {x});
}
Expr Erf(Expr x) {
  return Map(Function::kErf, {x});
}
Expr Sigmoid(Expr x) {
  return Map(Function::kSigmoid, {x});
}
Expr Sqrt(Expr x) {
  return Map(Function::kSqrt, {x});
}
Expr Rsqrt(Expr x) {
  return Map(Function::kRsqrt, {x});
}
Expr Abs(Expr x) {
  return Map(Function::kAbs, {x});
}
Expr Maximum(Expr x, Expr y) {
  return Map(Function::kMaximum, {x, y});
}
Expr Minimum(Expr x, Expr y) {
  return Map(Function::kMinimum, {x, y});
}
Expr Max0(Expr x) {
  return Maximum(x, Const(*x.graph, 0));
}
Expr Less(Expr x, Expr y) {
  return Map(Function::kLess, {x, y});
}
Expr Select(Expr condition, Expr x, Expr y) {
  return Map(Function::kSelect, {condition, x, y});
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

Expr Round(Expr x, DType format) {
  RequireOneGraph("Round", {x});
  Require(IsFloat(format), "Round: stores in {}, which is no type of floating-point numbers; take one", Name(format));
  return Append(*x.graph, {.kind = Kind::kRound,
                           .non_negative = x.node().non_negative,
                           .args = {x.id},
                           .axes = x.node().axes,
                           .format = format});
}

}  // namespace assay::formula
