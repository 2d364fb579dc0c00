// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/graph.h"

#include <fmt/format.h>

#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

std::string AxisNames(const Graph& graph, AxisSet set) {
  std::string names;
  for (; set != 0; set &= set - 1) {
    const std::string& name = graph.axes[static_cast<size_t>(std::countr_zero(set))].name;
    names += names.empty() ? name : "," + name;
  }
  return names;
}

std::string DescribeMap(const Graph& graph, const Node& node) {
  const FunctionInfo& info = Info(node.function);
  const auto arg = [&](size_t i) { return Describe(graph, node.args[i]); };
  if (info.infix) return fmt::format("({} {} {})", arg(0), info.name, arg(1));
  std::string args = arg(0);
  for (size_t i = 1; i < node.args.size(); ++i) args += ", " + arg(i);
  return fmt::format("{}({})", info.name, args);
}

}  // namespace

double CountFlops(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind == Kind::kMap) flops += static_cast<double>(graph.ExtentOf(node.axes));
    if (IsReduction(node.kind)) flops += static_cast<double>(graph.ExtentOf(node.axes | node.reduced));
    if (node.kind == Kind::kRecur) {
      flops += static_cast<double>(node.args.size()) * static_cast<double>(graph.ExtentOf(node.axes));
    }
  }
  return flops;
}

std::string Describe(const Graph& graph, int index) {
  const Node& node = graph.At(index);
  const auto reduction = [&](const char* name) {
    return fmt::format("{}[{}]({})", name, AxisNames(graph, node.reduced), Describe(graph, node.args[0]));
  };
  switch (node.kind) {
    case Kind::kIn:
      return graph.inputs[static_cast<size_t>(node.input)].name;
    case Kind::kConst:
      return fmt::format("{:.6g}", node.constant);
    case Kind::kIndex:
      return fmt::format("index({})", graph.axes[static_cast<size_t>(node.axis)].name);
    case Kind::kMap:
      return DescribeMap(graph, node);
    case Kind::kSum:
      return reduction("sum");
    case Kind::kProd:
      return reduction("prod");
    case Kind::kMax:
      return reduction("max");
    case Kind::kMin:
      return reduction("min");
    case Kind::kRecur:
      return fmt::format("recur[{}]({})", graph.axes[static_cast<size_t>(node.axis)].name,
                         Describe(graph, node.args.back()));
    case Kind::kAt:
      return fmt::format("at[{}]({})", graph.axes[static_cast<size_t>(node.axis)].name, Describe(graph, node.args[0]));
    case Kind::kRound:
      return fmt::format("round[{}]({})", Name(node.format), Describe(graph, node.args[0]));
  }
  return {};
}

}  // namespace assay::formula
