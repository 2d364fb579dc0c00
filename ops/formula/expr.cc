// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/expr.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/formula/expr_parts.h"
#include "ops/formula/formula_error.h"
#include "ops/formula/functions.h"
#include "ops/formula/integers.h"

namespace assay::formula {
namespace {

bool IsNonNegative(const Node& node, const std::vector<const Node*>& x) {
  const auto all = [&] { return std::ranges::all_of(x, [](const Node* one) { return one->non_negative; }); };
  switch (node.function) {
    case Function::kMul:
      return node.args[0] == node.args[1] || all();
    case Function::kAdd:
    case Function::kDiv:
    case Function::kMinimum:
    case Function::kFloorDivide:
    case Function::kNearest:
    case Function::kErf:
    case Function::kTanh:
    case Function::kLog1p:
    case Function::kExpm1:
    case Function::kAsin:
    case Function::kAtan:
    case Function::kSinh:
    case Function::kAsinh:
    case Function::kAtanh:
    case Function::kCbrt:
      return all();
    case Function::kMaximum:
      return x[0]->non_negative || x[1]->non_negative;
    case Function::kAbs:
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kEqual:
    case Function::kAnd:
    case Function::kOr:
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kExp:
    case Function::kExp2:
    case Function::kErfc:
    case Function::kAcos:
    case Function::kCosh:
    case Function::kAcosh:
    case Function::kSigmoid:
      return true;
    case Function::kPow:
      return x[0]->non_negative;
    case Function::kSelect:
      return x[1]->non_negative && x[2]->non_negative;
    default:
      return false;
  }
}

// Below which no result lies, of one that is non-negative.
double LeastOf(Function function, const std::vector<const Node*>& x) {
  if (function == Function::kAdd) return x[0]->least + x[1]->least;
  if (function == Function::kMaximum) return std::max(x[0]->least, x[1]->least);
  return 0;
}

// A tensor has no axis twice.
void RequireOnce(const Graph& graph, std::string_view what, std::string_view name, const Axes& axes) {
  Require(std::popcount(axes.Set()) == std::ssize(axes.list), "{} {}: names an axis of {} twice; name each once", what,
          name, AxesText(graph, axes.Set()));
}

}  // namespace

Expr Append(Graph& graph, Node node) {
  node.numbers = NumbersOf(graph, node);
  graph.nodes.push_back(std::move(node));
  return {&graph, static_cast<int>(graph.nodes.size()) - 1};
}

void SetSignsOfMap(const Graph& graph, Node& node) {
  std::vector<const Node*> x;
  for (const int arg : node.args) x.push_back(&graph.At(arg));
  node.non_negative = IsNonNegative(node, x);
  node.least = node.non_negative ? LeastOf(node.function, x) : 0;
}

Expr MapTo(Function function, const std::vector<Expr>& operands) {
  RequireOneGraph(Info(function).name, operands);
  Node node{.kind = Kind::kMap, .function = function};
  for (const Expr& operand : operands) {
    node.args.push_back(operand.id);
    node.axes |= operand.node().axes;
  }
  SetSignsOfMap(*operands[0].graph, node);
  return Append(*operands[0].graph, std::move(node));
}

void RequireOneGraph(std::string_view name, const std::vector<Expr>& x) {
  for (const Expr& one : x) {
    Require(one.graph != nullptr && one.graph == x[0].graph,
            "{}: an operand is no expression of this definition. Expressions are made by d.In, Const and functions of "
            "them, anew each time that the definition runs; keep none in a static variable",
            name);
  }
}

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
  Require(extent >= 0, "axis {}: its extent is {}; extents are not negative", name, extent);
  graph.axes.push_back({std::move(name), extent});
  return {static_cast<int>(graph.axes.size()) - 1, extent};
}

void RefusePlacesInNothing(Expr places, Axis along) {
  Graph& graph = *places.graph;
  if (along.extent > 0 || graph.ExtentOf(places.node().axes) == 0 || !graph.refusal.empty()) return;
  graph.refusal = fmt::format("{} has no elements, so that there are no places along it", TextOf(graph, along));
}

Expr AddInput(Graph& graph, std::string name, const Axes& axes) {
  RequireOnce(graph, "input", name, axes);
  InputInfo info{std::move(name), {}};
  for (const Axis axis : axes.list) info.axes.push_back(axis.id);
  graph.inputs.push_back(std::move(info));
  const int input = static_cast<int>(graph.inputs.size()) - 1;
  return Append(graph, {.kind = Kind::kIn, .axes = axes.Set(), .input = input});
}

Expr AddPlaces(Graph& graph, std::string name, const Axes& axes, Axis along, PlaceKind kind) {
  const Expr places = AddInput(graph, std::move(name), axes);
  graph.nodes[static_cast<size_t>(places.id)].numbers = Numbers::kInteger;
  graph.inputs.back().places_along = along.id;
  graph.inputs.back().places = kind;
  if (kind == PlaceKind::kIndices) RefusePlacesInNothing(places, along);
  return places;
}

void RequireOutput(const Graph& graph, std::string_view name, Expr value, const Axes& axes) {
  Require(value.graph == &graph, "output {}: its value is no expression of this definition", name);
  RequireOnce(graph, "output", name, axes);
  AxisSet beside = axes.Set() & ~value.node().axes;
  for (const Axis axis : axes.list) beside &= axis.extent == 1 ? ~SetOf(axis.id) : ~AxisSet{0};
  Require(beside == 0 && (value.node().axes & ~axes.Set()) == 0,
          "output {}: is stated along {}, but its value has the axes {}. State all of these and no others", name,
          AxesText(graph, axes.Set()), TextOf(value));
}

void AddOutput(Graph& graph, std::string name, Expr value, const Axes& axes) {
  RequireOutput(graph, name, value, axes);
  OutputInfo info{std::move(name), {}, value.id};
  for (const Axis axis : axes.list) info.axes.push_back(axis.id);
  graph.outputs.push_back(std::move(info));
}

Expr Const(Graph& graph, double value, double value_lo) {
  return Append(graph, {.kind = Kind::kConst,
                        .non_negative = value >= 0,
                        .least = std::max(value, 0.0),
                        .constant = value,
                        .constant_lo = value_lo});
}

Expr ConstAlong(Graph& graph, double value, AxisSet axes) {
  const Expr constant = Const(graph, value);
  graph.nodes.back().axes = axes;
  return constant;
}

Expr Index(Graph& graph, Axis axis) {
  return Append(graph, {.kind = Kind::kIndex, .non_negative = true, .axes = SetOf(axis.id), .axis = axis.id});
}

Expr operator+(Expr x, Expr y) {
  return MapTo(Function::kAdd, {x, y});
}
Expr operator-(Expr x, Expr y) {
  return MapTo(Function::kSub, {x, y});
}
Expr operator*(Expr x, Expr y) {
  return MapTo(Function::kMul, {x, y});
}
Expr operator/(Expr x, Expr y) {
  return MapTo(Function::kDiv, {x, y});
}
Expr operator-(Expr x) {
  return MapTo(Function::kNegate, {x});
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

Expr Exp(Expr x) {
  return MapTo(Function::kExp, {x});
}
Expr Log(Expr x) {
  return MapTo(Function::kLog, {x});
}
Expr Log1p(Expr x) {
  return MapTo(Function::kLog1p, {x});
}
Expr Tanh(Expr x) {
  return MapTo(Function::kTanh, {x});
}
Expr OneMinusTanh(Expr x) {
  return MapTo(Function::kOneMinusTanh, {x});
}
Expr OneMinusErf(Expr x) {
  return MapTo(Function::kOneMinusErf, {x});
}
Expr Erf(Expr x) {
  return MapTo(Function::kErf, {x});
}
Expr Sin(Expr x) {
  return MapTo(Function::kSin, {x});
}
Expr Cos(Expr x) {
  return MapTo(Function::kCos, {x});
}
Expr Pow(Expr x, Expr y) {
  return MapTo(Function::kPow, {x, y});
}
Expr Exp2(Expr x) {
  return MapTo(Function::kExp2, {x});
}
Expr Expm1(Expr x) {
  return MapTo(Function::kExpm1, {x});
}
Expr Log2(Expr x) {
  return MapTo(Function::kLog2, {x});
}
Expr Log10(Expr x) {
  return MapTo(Function::kLog10, {x});
}
Expr Erfc(Expr x) {
  return MapTo(Function::kErfc, {x});
}
Expr Tan(Expr x) {
  return MapTo(Function::kTan, {x});
}
Expr Asin(Expr x) {
  return MapTo(Function::kAsin, {x});
}
Expr Acos(Expr x) {
  return MapTo(Function::kAcos, {x});
}
Expr Atan(Expr x) {
  return MapTo(Function::kAtan, {x});
}
Expr Sinh(Expr x) {
  return MapTo(Function::kSinh, {x});
}
Expr Cosh(Expr x) {
  return MapTo(Function::kCosh, {x});
}
Expr Asinh(Expr x) {
  return MapTo(Function::kAsinh, {x});
}
Expr Acosh(Expr x) {
  return MapTo(Function::kAcosh, {x});
}
Expr Atanh(Expr x) {
  return MapTo(Function::kAtanh, {x});
}
Expr Cbrt(Expr x) {
  return MapTo(Function::kCbrt, {x});
}
Expr Sigmoid(Expr x) {
  return MapTo(Function::kSigmoid, {x});
}
Expr Sqrt(Expr x) {
  return MapTo(Function::kSqrt, {x});
}
Expr Rsqrt(Expr x) {
  return MapTo(Function::kRsqrt, {x});
}
Expr Abs(Expr x) {
  return MapTo(Function::kAbs, {x});
}
Expr Maximum(Expr x, Expr y) {
  return MapTo(Function::kMaximum, {x, y});
}
Expr Minimum(Expr x, Expr y) {
  return MapTo(Function::kMinimum, {x, y});
}
Expr Max0(Expr x) {
  return Maximum(x, Const(*x.graph, 0));
}
Expr FloorDivide(Expr x, Expr y) {
  return MapTo(Function::kFloorDivide, {x, y});
}
Expr Nearest(Expr x) {
  return MapTo(Function::kNearest, {x});
}
Expr Less(Expr x, Expr y) {
  return MapTo(Function::kLess, {x, y});
}
Expr LessEqual(Expr x, Expr y) {
  return MapTo(Function::kLessEqual, {x, y});
}
Expr Equal(Expr x, Expr y) {
  return MapTo(Function::kEqual, {x, y});
}
Expr NotEqual(Expr x, Expr y) {
  return Not(Equal(x, y));
}
Expr And(Expr x, Expr y) {
  return MapTo(Function::kAnd, {x, y});
}
Expr Or(Expr x, Expr y) {
  return MapTo(Function::kOr, {x, y});
}
Expr Not(Expr x) {
  RequireOneGraph("Not", {x});
  return Equal(x, Const(*x.graph, 0));
}
// Whether a real number is zero is a question of its error.
Expr Select(Expr condition, Expr x, Expr y) {
  RequireOneGraph("Select", {condition, x, y});
  if (condition.node().numbers == Numbers::kReal) condition = Not(Not(condition));
  return MapTo(Function::kSelect, {condition, x, y});
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

auto fmt::formatter<assay::formula::AxesText>::format(const assay::formula::AxesText& axes,
                                                      format_context& context) const -> format_context::iterator {
  std::string_view separator;
  auto out = fmt::format_to(context.out(), "[");
  for (assay::formula::AxisSet set = axes.set; set != 0; set &= set - 1) {
    out = fmt::format_to(out, "{}{}", separator, axes.graph.axes[static_cast<size_t>(std::countr_zero(set))].name);
    separator = ",";
  }
  return fmt::format_to(out, "]");
}
