// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/formula_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

constexpr int kTextDepth = 4;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string Write(int at, int depth, bool inside) const {
    const Node& node = graph_.At(at);
    switch (node.kind) {
      case Kind::kIn:
        return graph_.inputs[static_cast<size_t>(node.input)].name;
      case Kind::kConst:
        return fmt::format("{:.6g}", node.constant);
      case Kind::kIndex:
        return "index of " + graph_.axes[static_cast<size_t>(node.axis)].name;
      case Kind::kRound:
        return Write(node.args[0], depth, inside);
      default:
        break;
    }
    const bool drops_axis = IsReduction(node.kind) && graph_.ExtentOf(node.reduced) == 1;
    if (drops_axis) return Write(node.args[0], depth, inside);
    if (depth == 0) return "...";
    if (IsMean(node)) return fmt::format("mean({})", Write(graph_.At(node.args[0]).args[0], depth - 1, false));
    if (node.kind == Kind::kMap && Info(node.function).infix) {
      const std::string text = fmt::format("{} {} {}", Write(node.args[0], depth - 1, true), Info(node.function).name,
                                           Write(node.args[1], depth - 1, true));
      return inside ? "(" + text + ")" : text;
    }
    std::vector<std::string> operands;
    for (const int arg : node.args) operands.push_back(Write(arg, depth - 1, false));
    return fmt::format("{}({})", NameOf(node), fmt::join(operands, ", "));
  }

 private:
  bool IsMean(const Node& node) const {
    if (!Maps(node, Function::kDiv)) return false;
    const Node &sum = graph_.At(node.args[0]), &count = graph_.At(node.args[1]);
    return sum.kind == Kind::kSum && count.kind == Kind::kConst &&
           count.constant == static_cast<double>(graph_.ExtentOf(sum.reduced));
  }

  static std::string_view NameOf(const Node& node) {
    switch (node.kind) {
      case Kind::kMap:
        return Info(node.function).name;
      case Kind::kSum:
        return "sum";
      case Kind::kProd:
        return "prod";
      case Kind::kMax:
        return "max";
      case Kind::kMin:
        return "min";
      case Kind::kRecur:
        return node.args.size() == 1 ? "cumsum" : "recurrence";
      case Kind::kAt:
        return "elements";
      case Kind::kTopK:
        return node.places ? "places of top_k" : "top_k";
      case Kind::kGather:
        return "gather";
      default:
        return "scatter_add";
    }
  }

  const Graph& graph_;
};

}  // namespace

std::string FormulaText(const Graph& graph, int node) {
  return Writer(graph).Write(node, kTextDepth, false);
}

}  // namespace assay::formula
