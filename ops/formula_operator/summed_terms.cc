// SPDX-License-Identifier: Apache-2.0
// The terms of a formula's sums on the way to one element of its output. Sums of other elements, which a formula may
// read at other places (rope, gather), stand for themselves: they are of the same kind.
#include <algorithm>
#include <functional>

#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/reach.h"

namespace assay {
namespace {

using formula::AxisSet;
using formula::Graph;
using formula::Kind;
using formula::Node;

using Place = std::vector<int64_t>;  // an index for each axis of the graph

// Results of a node that are evaluated to look at one element: half a gigabyte. Sums of larger operands have no terms.
constexpr int64_t kMostEvaluated = int64_t{1} << 26;

// The results of a node, to be read at places.
class Results {
 public:
  Results(const Graph& graph, int node, const std::vector<std::vector<double>>& inputs)
      : graph_(graph),
        axes_(ListAxes(graph, graph.At(node).axes)),
        values_(ValuesAt(graph, static_cast<size_t>(node), axes_, inputs)) {}

  double At(const Place& place) const {
    int64_t index = 0;
    for (const int axis : axes_) index = index * graph_.Extent(axis) + place[static_cast<size_t>(axis)];
    return values_[static_cast<size_t>(index)];
  }

 private:
  const Graph& graph_;
  std::vector<int> axes_;
  std::vector<double> values_;
};

Place PlaceOf(const Graph& graph, int64_t element) {
  Place place(graph.axes.size());
  const std::vector<int>& axes = graph.outputs[0].axes;
  for (size_t k = axes.size(); k-- > 0; element /= graph.Extent(axes[k])) {
    place[static_cast<size_t>(axes[k])] = element % graph.Extent(axes[k]);
  }
  return place;
}

// All places that differ from this one along these axes alone.
void ForEachAlong(const Graph& graph, AxisSet set, Place place, const std::function<void(const Place&)>& use) {
  const std::vector<int> axes = ListAxes(graph, set);
  for (int64_t number = 0; number < graph.ExtentOf(set); ++number) {
    int64_t rest = number;
    for (size_t k = axes.size(); k-- > 0; rest /= graph.Extent(axes[k])) {
      place[static_cast<size_t>(axes[k])] = rest % graph.Extent(axes[k]);
    }
    use(place);
  }
}

bool AddsTerms(const Node& node) {
  return node.kind == Kind::kSum || node.kind == Kind::kScatterAdd ||
         (node.kind == Kind::kRecur && node.args.size() == 1);
}

// Precondition: the node adds terms.
std::vector<double> TermsOf(const Graph& graph, const Node& node, const Place& place,
                            const std::vector<std::vector<double>>& inputs) {
  std::vector<double> terms;
  if (node.kind != Kind::kScatterAdd) {
    const bool runs = node.kind == Kind::kRecur;
    const Results added(graph, node.args[0], inputs);
    ForEachAlong(graph, runs ? formula::SetOf(node.axis) : node.reduced, place, [&](const Place& at) {
      const bool is_later = runs && at[static_cast<size_t>(node.axis)] > place[static_cast<size_t>(node.axis)];
      if (!is_later) terms.push_back(added.At(at));
    });
  } else {
    const Results base(graph, node.args[0], inputs), added(graph, node.args[1], inputs);
    const Results places(graph, node.args[2], inputs);
    const auto here = static_cast<double>(place[static_cast<size_t>(node.axis)]);
    terms.push_back(base.At(place));
    ForEachAlong(graph, node.reduced, place, [&](const Place& at) {
      if (places.At(at) == here) terms.push_back(added.At(at));
    });
  }
  return terms;
}

}  // namespace

std::vector<std::vector<double>> FormulaOperator::SummedTerms(const Problem& problem, size_t output,
                                                              std::span<const Tensor> inputs, const Contract& contract,
                                                              int64_t element) const {
  const formula::Definition definition = DefinitionOf(problem, output, contract.alg);
  const Graph& graph = definition.graph();
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  const Place place = PlaceOf(graph, element);
  std::vector<std::vector<double>> sums;
  for (const Node& node : graph.nodes) {
    if (!AddsTerms(node)) continue;
    const bool is_small =
        std::ranges::all_of(node.args, [&](int k) { return graph.ExtentOf(graph.At(k).axes) <= kMostEvaluated; });
    sums.push_back(is_small ? TermsOf(graph, node, place, elements) : std::vector<double>());
  }
  return sums;
}

}  // namespace assay
