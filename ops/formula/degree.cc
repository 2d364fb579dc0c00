// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/degree.h"

#include <algorithm>

namespace assay::formula {
namespace {

using Degree = std::optional<int>;

// Zero is zero times any power.
bool IsZero(const Node& node) {
  return node.kind == Kind::kConst && node.constant == 0;
}

// Common degree of operands that are added, compared or chosen from; nullopt if they differ.
Degree Agreed(const Graph& graph, const std::vector<int>& args, const std::vector<Degree>& known) {
  Degree agreed;
  for (const int arg : args) {
    const Degree one = known[static_cast<size_t>(arg)];
    if (IsZero(graph.At(arg))) continue;
    if (!one || (agreed && *agreed != *one)) return std::nullopt;
    agreed = one;
  }
  return agreed ? agreed : 0;
}

Degree OfMap(const Graph& graph, const Node& node, const std::vector<Degree>& known) {
  const auto of = [&](size_t k) { return known[static_cast<size_t>(node.args[k])]; };
  switch (node.function) {
    case Function::kMul:
      return of(0) && of(1) ? Degree(*of(0) + *of(1)) : std::nullopt;
    case Function::kDiv:
      return of(0) && of(1) ? Degree(*of(0) - *of(1)) : std::nullopt;
    case Function::kAdd:
    case Function::kSub:
    case Function::kMaximum:
    case Function::kMinimum:
    case Function::kNegate:
    case Function::kAbs:
      return Agreed(graph, node.args, known);
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kEqual:
      return Agreed(graph, node.args, known) ? Degree(0) : std::nullopt;
    case Function::kSelect:
      return of(0) == Degree(0) ? Agreed(graph, {node.args[1], node.args[2]}, known) : std::nullopt;
    default:  // of functions that are no powers the argument must not change
      return std::ranges::all_of(node.args, [&](int arg) { return known[static_cast<size_t>(arg)] == Degree(0); })
                 ? Degree(0)
                 : std::nullopt;
  }
}

Degree Of(const Graph& graph, const Node& node, const std::vector<Degree>& known) {
  const auto of = [&](size_t k) { return known[static_cast<size_t>(node.args[k])]; };
  switch (node.kind) {
    case Kind::kMap:
      return OfMap(graph, node, known);
    case Kind::kSum:
    case Kind::kMax:
    case Kind::kMin:
    case Kind::kAt:
      return of(0);
    case Kind::kProd:
      return of(0) ? Degree(*of(0) * static_cast<int>(graph.ExtentOf(node.reduced))) : std::nullopt;
    case Kind::kTopK:
      return node.places && of(0) ? Degree(0) : of(0);
    case Kind::kGather:
      return of(1) == Degree(0) ? of(0) : std::nullopt;
    case Kind::kScatterAdd:
      return of(2) == Degree(0) ? Agreed(graph, {node.args[0], node.args[1]}, known) : std::nullopt;
    case Kind::kRecur:
      return node.args.size() == 1 || of(0) == Degree(0) ? known[static_cast<size_t>(node.args.back())] : std::nullopt;
    case Kind::kRound:  // what is stored has a range of its own
      return of(0) == Degree(0) ? Degree(0) : std::nullopt;
    default:
      return 0;
  }
}

}  // namespace

std::optional<int> DegreeOf(const Graph& graph, int node, const std::vector<bool>& scaled) {
  std::vector<Degree> known;
  for (int i = 0; i <= node; ++i) {
    const Node& info = graph.At(i);
    const bool has_factor = info.kind == Kind::kIn && scaled[static_cast<size_t>(info.input)];
    known.push_back(has_factor ? Degree(1) : Of(graph, info, known));
  }
  return known.back();
}

}  // namespace assay::formula
