// SPDX-License-Identifier: Apache-2.0
// An operator as a graph of a dozen primitives. Nodes are whole index spaces: a node has one number for each index of
// its axes. Extents are known: a graph is made for one case. The domains (values.h, error.h) go through the nodes in
// the order in which they stand, operands first.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay::formula {

using AxisSet = uint32_t;  // bit i: axis i
inline constexpr int kMaxAxes = 32;

enum class Kind : uint8_t {
  kIn,
  kConst,  // the same at each index of its axes
  kIndex,  // the index along an axis, exact
  kMap,    // a function of numbers at the same index
  kSum,
  kProd,
  kMax,
  kMin,
  kRecur,       // h_t = a_t h_(t-1) + b_t along an axis; one operand: a_t = 1
  kAt,          // the operand at other places along an axis
  kRound,       // stored in a narrower format
  kTopK,        // the largest or the smallest numbers along an axis, in order: themselves, or their places
  kGather,      // the first operand at the places along an axis that the second one holds
  kScatterAdd,  // the first operand, with numbers of the second added at the places along an axis that the third holds
};

enum class Function : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kNegate,
  kAbs,
  kMaximum,
  kMinimum,
  kLess,    // a condition: 1 or 0, exact
  kSelect,  // of an integer, which counts as true unless it is zero, and two numbers
  kSqrt,
  kRsqrt,
  kExp,
  kLog,
  kLog1p,
  kTanh,
  kErf,
  kOneMinusTanh,
  kOneMinusErf,
  kSigmoid,
  kSin,
  kCos,
  kPow,  // of a positive number; of others as IEEE 754 has it
  // Conditions, as kLess is. kAnd and kOr take numbers: all but zero count as true, NaN too.
  kLessEqual,
  kEqual,
  kAnd,
  kOr,
  // Integers, of any numbers.
  kFloorDivide,  // the largest one that is at most the quotient
  kNearest,      // the closest one, of two the even one
  // Functions that the C library and libquadmath compute (library_functions.h).
  kExp2,
  kExpm1,
  kLog2,
  kLog10,
  kErfc,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kCbrt,
};

inline bool IsComparison(Function function) {
  return function == Function::kLess || function == Function::kLessEqual || function == Function::kEqual;
}
// Functions whose results are integers, whatever the operands.
inline bool IsStep(Function function) {
  return function == Function::kFloorDivide || function == Function::kNearest;
}
inline bool IsCondition(Function function) {
  return IsComparison(function) || function == Function::kAnd || function == Function::kOr;
}

// Numbers that a node can have, whatever the data.
enum class Numbers : uint8_t { kReal, kInteger, kCondition };  // kCondition: 1 and 0

// Freedom that implementations have with a sum or a difference, beside rounding its result.
enum class Strictness : uint8_t {
  kLoose,   // it may be distributed over a factor or fused into one: its operands round like numbers of their own size
  kStrict,  // its result alone is rounded
};

// Extra step of each addition of a sum: kRescaled sums of exponentials are multiplied by exp(old maximum - new one)
// when a larger term comes.
enum class Steps : uint8_t { kPlain, kRescaled };

struct Node {
  Kind kind = Kind::kConst;
  Function function = Function::kAdd;
  Strictness strictness = Strictness::kLoose;
  Steps steps = Steps::kPlain;
  bool recomputed = false;    // kernels may compute this result more than once, in different orders
  bool updated = false;       // a mean that kernels may update term by term
  bool non_negative = false;  // whatever the inputs; so are the results of implementations
  double least = 0;           // what is non-negative is never less than this, but for roundings
  Numbers numbers = Numbers::kReal;
  // A reduction or recurrence that leads to another output as well, by way of fewer of them: what is forgotten in it
  // shows there. Set by KeepOutput.
  bool shown_elsewhere = false;
  std::vector<int> args;  // nodes
  AxisSet axes = 0;
  AxisSet reduced = 0;         // kSum ... kMin, kScatterAdd; kGather: the axes of the index, which no block parts; kAt
  int axis = -1;               // kRecur, kIndex; kAt, kTopK and kScatterAdd: of the result
  int from_axis = -1;          // kAt, kTopK, kGather: of the operand
  std::vector<int64_t> index;  // kAt: the operand's place for each of the result's; -1: none, zero
  // kAt: further axes of the result and of the operand, of which places are row-major numbers; `reduced` has them all.
  std::vector<int> more_axes, more_from;
  double constant = 0, constant_lo = 0;  // their sum: a constant need not be a double
  int input = -1;
  DType format = DType::kF32;  // kRound
  // kTopK
  bool smallest = false;
  bool places = false;   // indices along from_axis, not numbers
  bool any_tie = false;  // equal numbers may stand in any order, else the first of them stands first
};

struct AxisInfo {
  std::string name;
  int64_t extent = 1;
  // Where the graph is a slice of another one: the extent in memory (0: no slice), and where the slice begins.
  int64_t whole = 0, first = 0;
};

// Integers of an operand that speak of an axis of n elements.
enum class PlaceKind : uint8_t {
  kIndices,  // 0 to n - 1
  kLengths,  // 0 to n: how many elements count, from the first one on
  kEnds,     // ascending along the operand's last axis, the last one n: where each of several parts ends
};

// An operand: its axes in the order in which it lies in memory, row-major.
struct InputInfo {
  std::string name;
  std::vector<int> axes;
  int places_along = -1;  // the axis that its integers speak of; -1: it has numbers
  PlaceKind places = PlaceKind::kIndices;
  bool holds_slice = false;  // memory has the slice alone
};

struct OutputInfo {
  std::string name;
  std::vector<int> axes;
  int node = -1;
  bool holds_slice = false;
};

struct Graph {
  std::vector<AxisInfo> axes;
  std::vector<Node> nodes;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  std::string refusal;  // why extents of 0 leave something undefined; "": they do not
  // For each node the integers that a register holds of it, where larger ones wrap around and would decide something
  // else. Beyond them, and where nothing is defined, values are NaN, and so is all that depends on them. Empty: values
  // are those of real arithmetic. Set by LimitToRegisters.
  std::vector<std::optional<IntegerLimits>> limits;
  // Marks products of integers that are kept modulo 2^64, as no double-double has all their digits. Set with limits.
  std::vector<bool> wraps;

  int64_t ExtentOf(AxisSet set) const {
    int64_t product = 1;
    for (; set != 0; set &= set - 1) product *= axes[static_cast<size_t>(std::countr_zero(set))].extent;
    return product;
  }
  int64_t Extent(int axis) const { return axes[static_cast<size_t>(axis)].extent; }
  const Node& At(int node) const { return nodes[static_cast<size_t>(node)]; }
};

inline AxisSet SetOf(int axis) {
  return AxisSet{1} << axis;
}

inline AxisSet SetOf(const std::vector<int>& axes) {
  AxisSet set = 0;
  for (const int axis : axes) set |= SetOf(axis);
  return set;
}
inline bool Maps(const Node& node, Function function) {
  return node.kind == Kind::kMap && node.function == function;
}
inline bool Has(AxisSet set, int axis) {
  return (set & SetOf(axis)) != 0;
}
inline bool IsExtreme(Kind kind) {
  return kind == Kind::kMax || kind == Kind::kMin;
}
// Whether a node's result is one number for many: errors of one are shared by whatever uses it.
inline bool IsReduction(Kind kind) {
  return kind == Kind::kSum || kind == Kind::kProd || IsExtreme(kind);
}

// Where something can be forgotten: a term, a step, a rank; or a place be the next one.
inline bool CanForget(Kind kind) {
  return IsReduction(kind) || kind == Kind::kRecur || kind == Kind::kTopK || kind == Kind::kGather ||
         kind == Kind::kScatterAdd;
}

// Removes the other outputs and the nodes that lead to them alone. Inputs and axes all stay.
Graph KeepOutput(Graph graph, size_t output);

inline AxisSet OutputSet(const OutputInfo& output) {
  return SetOf(output.axes);
}

// Whether every operand lies along the one axis that there is, and each element of an output depends on what the inputs
// have at its own place alone: any shape is as good as a flat one then.
bool IsElementwise(const Graph& graph);

// Operations that are counted as floating-point work: one for each element of a map, term of a reduction, step or
// number that is selected from.
double CountFlops(const Graph& graph);

}  // namespace assay::formula
