// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/integers.h"

#include <algorithm>
#include <cmath>

#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

bool IsConstant(const Node& node, double value) {
  return node.kind == Kind::kConst && node.constant == value && node.constant_lo == 0;
}

Numbers OfConstant(const Node& node) {
  if (IsConstant(node, 0) || IsConstant(node, 1)) return Numbers::kCondition;
  const bool is_integer =
      node.constant == std::trunc(node.constant) && node.constant_lo == std::trunc(node.constant_lo);
  return is_integer ? Numbers::kInteger : Numbers::kReal;
}

// `least`: the most general kind of number among the operands.
Numbers OfMap(const Graph& graph, const Node& node, Numbers least) {
  if (IsCondition(node.function)) return Numbers::kCondition;
  if (IsStep(node.function)) return Numbers::kInteger;
  const bool are_integers = least != Numbers::kReal;
  switch (node.function) {
    case Function::kSub:
      if (IsConstant(graph.At(node.args[0]), 1) && least == Numbers::kCondition) return least;
      [[fallthrough]];
    case Function::kAdd:
    case Function::kNegate:
      return are_integers ? Numbers::kInteger : Numbers::kReal;
    case Function::kMul:
    case Function::kAbs:
    case Function::kMaximum:
    case Function::kMinimum:
      return least;
    case Function::kSelect:
      return std::min(graph.At(node.args[1]).numbers, graph.At(node.args[2]).numbers);
    default:
      return Numbers::kReal;
  }
}

// Kernels may rewrite the argument of a function: exp(a - b) as exp2(a c - b c).
bool MayBeJoined(const Node& argument) {
  if (argument.numbers == Numbers::kCondition || argument.strictness == Strictness::kStrict) return false;
  return argument.kind != Kind::kIn && argument.kind != Kind::kConst && argument.kind != Kind::kIndex;
}

// Whether kernels use the exact integer that operand `place` of this node is. `stays_behind`: whether they use that of
// the node itself.
bool StaysIn(const Graph& graph, const Node& node, size_t place, bool stays_behind) {
  const bool is_integer = node.numbers != Numbers::kReal;
  switch (node.kind) {
    case Kind::kMap:
      if (IsCondition(node.function)) return true;
      if (node.function == Function::kSelect) return place == 0 || stays_behind;
      switch (Info(node.function).rounding) {
        case Rounding::kNone:
          return stays_behind;
        case Rounding::kAdd:
        case Rounding::kMultiply:
          return is_integer && stays_behind;
        case Rounding::kDivide:
          return false;
        default:
          return !MayBeJoined(graph.At(node.args[place]));
      }
    case Kind::kGather:
    case Kind::kScatterAdd:
      return graph.At(node.args[place]).numbers != Numbers::kReal && (place + 1 == node.args.size() || stays_behind);
    case Kind::kSum:
    case Kind::kProd:
    case Kind::kRecur:
      return is_integer && stays_behind;
    default:
      return stays_behind;
  }
}

// Returns how many bits the magnitude of a node has at most, given those of its operands; infinity if there is no
// limit.
double BitsOf(const Graph& graph, const Node& node, const std::vector<double>& bits, std::span<const DType> inputs) {
  double most = 0, sum = 0;
  for (const int arg : node.args) most = std::max(most, bits[static_cast<size_t>(arg)]);
  for (const int arg : node.args) sum += bits[static_cast<size_t>(arg)];
  switch (node.kind) {
    case Kind::kIn:
      return 8 * SizeOf(inputs[static_cast<size_t>(node.input)]);
    case Kind::kConst:
      return std::log2(std::fabs(node.constant) + std::fabs(node.constant_lo) + 1);
    case Kind::kIndex:
      return std::log2(static_cast<double>(graph.Extent(node.axis)));
    case Kind::kMap:
      if (IsCondition(node.function)) return 1;
      if (node.function == Function::kMul) return sum;
      // A quotient of integers is no larger than what is divided.
      if (node.function == Function::kFloorDivide) {
        const Node& by = graph.At(node.args[1]);
        const double less = by.kind == Kind::kConst ? std::floor(std::log2(std::max(1.0, std::fabs(by.constant)))) : 0;
        return std::max(1.0, bits[static_cast<size_t>(node.args[0])] - less);
      }
      return node.function == Function::kAdd || node.function == Function::kSub ? most + 1 : most;
    case Kind::kSum:
      return most + std::log2(static_cast<double>(graph.ExtentOf(node.reduced)));
    case Kind::kScatterAdd:
      return most + std::log2(static_cast<double>(graph.ExtentOf(node.reduced)) + 1);
    case Kind::kProd:
      return most * static_cast<double>(graph.ExtentOf(node.reduced));
    case Kind::kRecur:
      return node.args.size() > 1 ? HUGE_VAL : most + std::log2(static_cast<double>(graph.Extent(node.axis)));
    case Kind::kTopK:
      return std::max(most, node.places ? 63.0 : 0.0);
    default:
      return most;
  }
}

constexpr double kHeld = 100;  // of the 106 bits that a double-double has at least, so that sums of two are exact

struct Widths {
  std::vector<double> bits;  // of each node's magnitude
  std::vector<bool> wraps;   // Graph::wraps
};

Widths MeasureWidths(const Graph& graph, std::span<const DType> inputs) {
  const std::vector<bool> keeps = FindKeptModuli(graph);
  Widths widths;
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    const double bits = BitsOf(graph, node, widths.bits, inputs);
    widths.wraps.push_back(bits > kHeld && keeps[at] && Maps(node, Function::kMul));
    widths.bits.push_back(widths.wraps.back() ? 64 : bits);
  }
  return widths;
}

}  // namespace

std::vector<bool> FindWrappingProducts(const Graph& graph, std::span<const DType> inputs) {
  return MeasureWidths(graph, inputs).wraps;
}

bool StaysInIntegers(const Graph& graph, std::span<const DType> inputs, DType output) {
  const auto is_real = [](const Node& node) { return node.numbers == Numbers::kReal || node.kind == Kind::kRound; };
  if (!IsInt(output) || std::ranges::any_of(graph.nodes, is_real)) return false;
  return std::ranges::max(MeasureWidths(graph, inputs).bits) <= kHeld;
}

std::optional<int64_t> WrapExact(DType type, DD exact) {
  if (!std::isfinite(exact.hi) || !std::isfinite(exact.lo)) return std::nullopt;
  const auto modulo = [](double x) {
    const double rest = std::fmod(x, 0x1p64);
    const auto size = static_cast<uint64_t>(std::fabs(rest));
    return rest < 0 ? -size : size;
  };
  return assay::WrapTo(type, modulo(exact.hi) + modulo(exact.lo));
}

Numbers NumbersOf(const Graph& graph, const Node& node) {
  Numbers least = node.args.empty() ? node.numbers : Numbers::kCondition;
  for (const int arg : node.args) least = std::min(least, graph.At(arg).numbers);
  switch (node.kind) {
    case Kind::kConst:
      return OfConstant(node);
    case Kind::kIndex:
      return Numbers::kInteger;
    case Kind::kMap:
      return OfMap(graph, node, least);
    case Kind::kSum:
    case Kind::kRecur:
      return std::min(least, Numbers::kInteger);
    case Kind::kTopK:
      return node.places ? Numbers::kInteger : least;
    case Kind::kGather:
      return graph.At(node.args[0]).numbers;
    case Kind::kScatterAdd:
      return std::min(least, Numbers::kInteger);
    default:
      return least;
  }
}

std::vector<Held> FindHeldIntegers(const Graph& graph) {
  std::vector<bool> of_indices, stays(graph.nodes.size(), true);
  for (const Node& node : graph.nodes) {
    bool is_index = node.kind != Kind::kIn || graph.inputs[static_cast<size_t>(node.input)].places_along >= 0;
    if (node.kind != Kind::kTopK || !node.places) {
      for (const int arg : node.args) is_index = is_index && of_indices[static_cast<size_t>(arg)];
    }
    of_indices.push_back(is_index);
  }
  for (size_t at = graph.nodes.size(); at-- > 0;) {
    const Node& node = graph.nodes[at];
    for (size_t k = 0; k < node.args.size(); ++k) {
      const auto arg = static_cast<size_t>(node.args[k]);
      const bool is_index = of_indices[arg] && of_indices[at];
      // Constants are stored as what they meet.
      const bool stays_here = graph.nodes[arg].kind != Kind::kConst && StaysIn(graph, node, k, stays[at]);
      stays[arg] = stays[arg] && (is_index || stays_here);
    }
  }
  std::vector<Held> held;
  for (size_t at = 0; at < stays.size(); ++at) {
    const bool is_held = stays[at] && graph.nodes[at].numbers != Numbers::kReal;
    held.push_back(!is_held ? Held::kRounded : of_indices[at] ? Held::kIndex : Held::kStored);
  }
  return held;
}

}  // namespace assay::formula
