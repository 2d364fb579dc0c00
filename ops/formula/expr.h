// SPDX-License-Identifier: Apache-2.0
// Formulas as C++ writes them. An Expr is a node of the graph that its builder makes; operators and functions add
// nodes. Operands may lack axes that others have: they are the same along these. What cannot be written is thrown as a
// FormulaError (formula_error.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

struct Axis {
  int id = -1;
  int64_t extent = 1;
};

// Axes in the order in which a tensor lies in memory.
struct Axes {
  Axes() = default;
  Axes(Axis axis) : list{axis} {}  // NOLINT: one axis is a list of axes
  std::vector<Axis> list;
  AxisSet Set() const;
};
Axes operator+(Axes left, const Axes& right);
inline Axes operator+(Axis left, Axis right) {
  return Axes(left) + Axes(right);
}

// A node; the graph stays where it is.
struct Expr {
  Graph* graph = nullptr;
  int id = -1;
  const Node& node() const { return graph->At(id); }
};

Axis AddAxis(Graph& graph, std::string name, int64_t extent);
Expr AddInput(Graph& graph, std::string name, const Axes& axes);
// Integers that are places along an axis.
Expr AddPlaces(Graph& graph, std::string name, const Axes& axes, Axis along, PlaceKind kind = PlaceKind::kIndices);
// `axes`: those of the expression, in the order of memory, and any of one element.
void AddOutput(Graph& graph, std::string name, Expr value, const Axes& axes);
// Whether that could be done.
void RequireOutput(const Graph& graph, std::string_view name, Expr value, const Axes& axes);

Expr operator+(Expr x, Expr y);
Expr operator-(Expr x, Expr y);
Expr operator*(Expr x, Expr y);
Expr operator/(Expr x, Expr y);
Expr operator-(Expr x);
Expr operator+(Expr x, double y);
Expr operator+(double x, Expr y);
Expr operator-(Expr x, double y);
Expr operator-(double x, Expr y);
Expr operator*(double x, Expr y);
Expr operator*(Expr x, double y);
Expr operator/(Expr x, double y);
Expr operator/(double x, Expr y);

// The result of a sum or difference, rounded once and used as it is: no kernel distributes or fuses it.
Expr Strict(Expr sum);
// A result of a reduction that kernels may compute more than once, in different orders.
Expr Recomputed(Expr result);

Expr Exp(Expr x);
Expr Log(Expr x);
Expr Log1p(Expr x);
Expr Tanh(Expr x);
Expr Erf(Expr x);
// 1 - tanh and 1 - erf, which vanish where x is large: functions of their own, since differences would leave no digit
// there. Kernels may take the differences all the same (Rounding::kTail). Erfc is 1 - erf of which they may not.
Expr OneMinusTanh(Expr x);
Expr OneMinusErf(Expr x);
Expr Sin(Expr x);
Expr Cos(Expr x);
Expr Pow(Expr x, Expr y);
Expr Exp2(Expr x);
Expr Expm1(Expr x);
Expr Log2(Expr x);
Expr Log10(Expr x);
Expr Erfc(Expr x);
Expr Tan(Expr x);
Expr Asin(Expr x);
Expr Acos(Expr x);
Expr Atan(Expr x);
Expr Sinh(Expr x);
Expr Cosh(Expr x);
Expr Asinh(Expr x);
Expr Acosh(Expr x);
Expr Atanh(Expr x);
Expr Cbrt(Expr x);
// 1 / (1 + exp(-x)) in any way whose error is relative. 0.5 + 0.5 tanh(x/2) is off by u absolutely, which of a result
// near zero is more than any math= grants.
Expr Sigmoid(Expr x);
Expr Sqrt(Expr x);
Expr Rsqrt(Expr x);
Expr Abs(Expr x);
Expr Maximum(Expr x, Expr y);
Expr Minimum(Expr x, Expr y);
Expr Max0(Expr x);
// Integers: the largest one that is at most x / y, and the closest to x, of two the even one.
Expr FloorDivide(Expr x, Expr y);
Expr Nearest(Expr x);
// Conditions: 1 or 0, exact. And, Or, Not and Select take any number as true but zero.
Expr Less(Expr x, Expr y);
Expr LessEqual(Expr x, Expr y);
Expr Equal(Expr x, Expr y);
Expr NotEqual(Expr x, Expr y);
Expr And(Expr x, Expr y);
Expr Or(Expr x, Expr y);
Expr Not(Expr x);
Expr Select(Expr condition, Expr x, Expr y);

Expr Sum(Expr x, const Axes& axes);
// A sum of exp(x - running maximum), which is rescaled when a larger x comes.
Expr RescaledSum(Expr x, const Axes& axes);
Expr Mean(Expr x, const Axes& axes);  // Sum / n
// A mean that kernels may also update, by (x - mean) / k of the k-th term (Welford 1962): an infinite term makes that
// NaN as soon as another one follows.
Expr UpdatedMean(Expr x, const Axes& axes);
Expr Prod(Expr x, const Axes& axes);
Expr Max(Expr x, const Axes& axes);
Expr Min(Expr x, const Axes& axes);
Expr MaxOrLowest(Expr x, const Axes& axes);          // Max; of no elements -infinity, as the logarithm of their sum
Expr BelowMax(Expr x, const Axes& axes);             // Max - x, rounded once: of no implementation negative
Expr Contraction(Expr x, Expr y, const Axes& axes);  // sum of products

Expr CumSum(Expr x, Axis axis);
Expr Recur(Expr a, Expr b, Axis axis);  // h_t = a_t h_(t-1) + b_t, from h_(-1) = 0

// The largest numbers of x along `from`, in descending order along `to`, and their indices along `from`; or the
// smallest ones in ascending order. NaN counts as larger than any number (IEEE 754-2019, 5.10, of positive NaN), zeros
// of either sign as equal.
struct Selection {
  Expr values, places;
};
struct SelectionOrder {
  bool smallest = false;
  bool any_tie = false;  // equal numbers may stand in any order, else that with the lower index stands first
};
Selection TopK(Expr x, Axis from, Axis to, const SelectionOrder& order);
// The places alone, where nothing reads the numbers: their node would lead nowhere.
Expr TopKPlaces(Expr x, Axis from, Axis to, const SelectionOrder& order);

// x along `from` at the places that `index` holds, along the axes of the index. Places that are none give NaN. Along
// axes that both have, each place is taken from the same place of x.
Expr Gather(Expr x, Axis from, Expr index);
// `base`, and each number of `updates` added at its place along `to`, which `index` holds, in any order. The index's
// axes are gone. Places that are none get nothing.
Expr ScatterAdd(Expr base, Expr updates, Expr index, Axis to);

// x with its axes `from` as the axes `to`, which have as many elements together: in row-major order of either.
Expr Reshape(Expr x, const Axes& from, const Axes& to);
// x with the axes `to` in the place of `from`: each element that of a row-major place among `from`; -1: zero.
Expr Take(Expr x, const Axes& from, const Axes& to, std::vector<int64_t> places);
// x along `from` at index(i) for each i of the axis `to`; -1: zero.
Expr At(Expr x, Axis from, Axis to, const std::function<int64_t(int64_t)>& index);
Expr Index(Graph& graph, Axis axis);
Expr Const(Graph& graph, double value, double value_lo = 0);  // value + value_lo
Expr Round(Expr x, DType format);

}  // namespace assay::formula
