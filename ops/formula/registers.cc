// SPDX-License-Identifier: Apache-2.0
// The types of registers that hold the integers of a graph. A sum that wraps around is right modulo 2^bits as long as
// it is only added, multiplied and moved. Where it is compared, or converted to a wider type, it has become another
// integer, and which one depends on the type that a kernel stores it in.
#include <algorithm>
#include <cmath>

#include "ops/formula/integers.h"

namespace assay::formula {
namespace {

using Type = std::optional<DType>;  // none: constants and conditions, which have the type of what they meet

bool IsWider(Type type, Type than) {
  if (!type || !than || *type == *than) return false;
  return *than == DType::kBool || (*type != DType::kBool && SizeOf(*type) > SizeOf(*than));
}

// Returns the type in which integers of two types meet.
Type Join(Type a, Type b) {
  if (!a || !b) return a ? a : b;
  if (*a != *b && *a != DType::kBool && *b != DType::kBool && SizeOf(*a) == SizeOf(*b)) return DType::kI16;  // u8, i8
  return IsWider(b, a) ? b : a;
}

bool Accumulates(Kind kind) {
  return kind == Kind::kSum || kind == Kind::kProd || kind == Kind::kRecur || kind == Kind::kScatterAdd;
}

// Whether an operand becomes a part of the node's numbers, and does not only decide which ones these are.
bool GivesNumbers(const Node& node, size_t place) {
  if (node.kind == Kind::kGather || node.kind == Kind::kScatterAdd) return place + 1 < node.args.size();
  if (node.kind == Kind::kMap && node.function == Function::kSelect) return place > 0;
  return !(node.kind == Kind::kMap && IsCondition(node.function));
}

// Whether the node is right modulo 2^bits where this operand is.
bool KeepsModulus(const Node& node, size_t place) {
  switch (node.kind) {
    case Kind::kMap:
      return node.function == Function::kAdd || node.function == Function::kSub || node.function == Function::kMul ||
             node.function == Function::kNegate || (node.function == Function::kSelect && place > 0);
    case Kind::kMax:
    case Kind::kMin:
    case Kind::kTopK:
      return false;
    default:
      return GivesNumbers(node, place);
  }
}

// Whether this is the quotient by 2^bits or more, with which a definition takes an integer modulo 2^bits itself: it is
// meant of integers that no register limits.
bool CountsWraps(const Graph& graph, const Node& node, Type type) {
  if (!Maps(node, Function::kFloorDivide) || !type) return false;
  const Node& by = graph.At(node.args[1]);
  int exponent = 0;
  return by.kind == Kind::kConst && std::frexp(by.constant, &exponent) == 0.5 && exponent > 8 * SizeOf(*type);
}

// The nodes whose values are those of the output, at other places at most.
std::vector<bool> FindResults(const Graph& graph) {
  std::vector<bool> is_result(graph.nodes.size());
  for (int node = graph.outputs[0].node;; node = graph.At(node).args[0]) {
    is_result[static_cast<size_t>(node)] = true;
    if (graph.At(node).kind != Kind::kAt) return is_result;
  }
}

// Whether this is a sum of products of 8 bits in i32, which kernels of quantised networks compute in i32 from the
// operands on.
bool IsQuantisedSum(const Graph& graph, std::span<const DType> inputs, DType output,
                    const std::vector<bool>& is_result) {
  bool sums = false;
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    sums = sums || (is_result[at] && node.kind == Kind::kSum);
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (!KeepsModulus(node, k)) return false;
    }
  }
  return sums && output == DType::kI32 && std::ranges::all_of(inputs, [](DType type) { return SizeOf(type) == 1; });
}

class Registers {
 public:
  Registers(const Graph& graph, std::span<const DType> inputs, DType output)
      : graph_(graph), limits_(graph.nodes.size()) {
    const std::vector<bool> is_result = FindResults(graph);
    if (IsQuantisedSum(graph, inputs, output, is_result)) return;
    for (size_t at = 0; at < graph.nodes.size(); ++at) {
      const Node& node = graph.nodes[at];
      types_.push_back(TypeOf(node, inputs));
      // Sums of a narrow type that are the output accumulate in the output's.
      if (is_result[at] && Accumulates(node.kind) && IsWider(output, types_[at])) types_[at] = output;
      if (CountsWraps(graph, node, types_[at])) {
        types_[at].reset();
        continue;
      }
      LimitOperands(node, types_[at]);
      if (Maps(node, Function::kFloorDivide)) Limit(at, types_[at]);
    }
    const auto last = static_cast<size_t>(graph.outputs[0].node);
    if (IsWider(output, types_[last])) Limit(last, types_[last]);
  }

  std::vector<std::optional<IntegerLimits>> TakeLimits() { return std::move(limits_); }

 private:
  Type TypeOf(const Node& node, std::span<const DType> inputs) const {
    if (node.kind == Kind::kIn) return inputs[static_cast<size_t>(node.input)];
    if (node.kind == Kind::kIndex || (node.kind == Kind::kTopK && node.places)) return kPlace;
    Type type;
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (GivesNumbers(node, k)) type = Join(type, types_[static_cast<size_t>(node.args[k])]);
    }
    return type;
  }

  void LimitOperands(const Node& node, Type type) {
    Type met;  // by operands that are compared with each other
    for (const int arg : node.args) met = Join(met, types_[static_cast<size_t>(arg)]);
    for (size_t k = 0; k < node.args.size(); ++k) {
      const auto arg = static_cast<size_t>(node.args[k]);
      const bool widens = GivesNumbers(node, k) && IsWider(type, types_[arg]);
      if (widens || !KeepsModulus(node, k)) Limit(arg, types_[arg] ? types_[arg] : met);
    }
  }

  void Limit(size_t node, Type type) {
    const IntegerLimits limits = LimitsOf(type.value_or(kPlace));
    std::optional<IntegerLimits>& to = limits_[node];
    to = !to ? limits : IntegerLimits{std::max(to->low, limits.low), std::min(to->high, limits.high)};
  }

  static constexpr DType kPlace = DType::kI32;  // the narrowest type in which frameworks hold places and counts
  const Graph& graph_;
  std::vector<Type> types_;
  std::vector<std::optional<IntegerLimits>> limits_;
};

}  // namespace

Graph LimitToRegisters(Graph graph, std::span<const DType> inputs, DType output) {
  graph.limits = Registers(graph, inputs, output).TakeLimits();
  graph.wraps = FindWrappingProducts(graph, inputs);
  return graph;
}

std::vector<bool> FindKeptModuli(const Graph& graph) {
  std::vector<bool> keeps(graph.nodes.size(), true);
  for (size_t at = keeps.size(); at-- > 0;) {
    const Node& node = graph.nodes[at];
    for (size_t k = 0; k < node.args.size(); ++k) {
      const auto arg = static_cast<size_t>(node.args[k]);
      keeps[arg] = keeps[arg] && keeps[at] && KeepsModulus(node, k);
    }
  }
  return keeps;
}

}  // namespace assay::formula
