// SPDX-License-Identifier: Apache-2.0
// Places of a selection where equal numbers may stand in any order: those that are as right as the golden ones become
// these.
#include <cmath>
#include <set>

#include "ops/formula/evaluate.h"
#include "ops/formula_operator.h"

namespace assay {
namespace {

using formula::Definition;
using formula::Graph;
using formula::Node;

// Elements from one index to the next along each axis of a layout, by axis of the graph.
std::vector<int64_t> StridesOf(const Graph& graph, const std::vector<int>& layout) {
  std::vector<int64_t> strides(graph.axes.size());
  int64_t stride = 1;
  for (size_t i = layout.size(); i-- > 0; stride *= graph.Extent(layout[i]))
    strides[static_cast<size_t>(layout[i])] = stride;
  return strides;
}

bool AreEqual(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Of one line: numbers by place, and the places that are right and those that are there, by rank. A place that is there
// twice is no place.
struct RankedLine {
  std::vector<double> numbers;
  std::vector<int64_t> golden, got;

  void Canonicalise() {
    std::set<int64_t> met;
    for (size_t rank = 0; rank < got.size(); ++rank) {
      int64_t& place = got[rank];
      if (place < 0 || place >= std::ssize(numbers)) continue;
      if (!met.insert(place).second) {
        place = -1;
      } else if (AreEqual(numbers[static_cast<size_t>(place)], numbers[static_cast<size_t>(golden[rank])])) {
        place = golden[rank];
      }
    }
  }
};

}  // namespace

bool FormulaOperator::Selects(const Problem& problem) const {
  const Definition definition = DefinitionOf(problem);
  const Graph& graph = definition.graph();
  const Node& last = graph.At(graph.outputs[0].node);
  return last.kind == formula::Kind::kTopK && graph.At(last.args[0]).kind == formula::Kind::kIn;
}

void FormulaOperator::Canonicalise(const Problem& problem, std::span<const Tensor> inputs, Tensor& got) const {
  const Definition definition = DefinitionOf(problem);
  const Graph& graph = definition.graph();
  const formula::OutputInfo& output = graph.outputs[0];
  const Node& node = graph.At(output.node);
  if (node.kind != formula::Kind::kTopK || !node.places || !node.any_tie) return;

  // The numbers in the layout of the output, their own axis in the place of the ranks.
  formula::OutputInfo numbers = output;
  numbers.node = node.args[0];
  for (int& axis : numbers.axes) axis = axis == node.axis ? node.from_axis : axis;
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  const std::vector<double> golden = formula::Evaluate(graph, output, elements, false, {}).value;
  const std::vector<double> x = formula::Evaluate(graph, numbers, elements, false, {}).value;
  const int64_t rank_stride = StridesOf(graph, output.axes)[static_cast<size_t>(node.axis)];
  const int64_t ranks = graph.Extent(node.axis), size = graph.Extent(node.from_axis);
  const std::span<int64_t> places = got.As<int64_t>();
  for (int64_t line = 0; line < got.size() / ranks; ++line) {
    const int64_t outer = line / rank_stride, inner = line % rank_stride;
    RankedLine one;
    for (int64_t i = 0; i < size; ++i)
      one.numbers.push_back(x[static_cast<size_t>((outer * size + i) * rank_stride + inner)]);
    const auto at = [&](int64_t rank) { return static_cast<size_t>((outer * ranks + rank) * rank_stride + inner); };
    for (int64_t rank = 0; rank < ranks; ++rank) {
      one.golden.push_back(static_cast<int64_t>(golden[at(rank)]));
      one.got.push_back(places[at(rank)]);
    }
    one.Canonicalise();
    for (int64_t rank = 0; rank < ranks; ++rank) places[at(rank)] = one.got[static_cast<size_t>(rank)];
  }
}

}  // namespace assay
