// SPDX-License-Identifier: Apache-2.0
// Places of a selection that are as right as the golden ones: in any order of equal numbers where the formula says so,
// and where a contract leaves numbers uncertain.
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/selection.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/places.h"

namespace assay {
namespace {

using formula::Definition;
using formula::Graph;
using formula::Node;
using formula::OutputInfo;

// One line: numbers by place, and by rank the right places and those in the result.
struct RankedLine {
  std::vector<DD> numbers;
  std::vector<int64_t> golden, got;

  void Canonicalise() {
    for (size_t rank = 0; rank < got.size(); ++rank) {
      const int64_t place = got[rank];
      if (place < 0 || place >= std::ssize(numbers)) continue;
      const DD x = numbers[static_cast<size_t>(place)], best = numbers[static_cast<size_t>(golden[rank])];
      if (formula::AreAlike(x.hi, best.hi) && (x.lo == best.lo || std::isnan(x.hi))) got[rank] = golden[rank];
    }
  }
};

// Each number stands once: a place that was there before becomes -1 - place, which is none, whatever a contract leaves
// uncertain.
void MarkRepeated(const PlacesLayout& layout, std::span<int64_t> places) {
  for (int64_t line = 0; line < layout.lines(std::ssize(places)); ++line) {
    std::vector<bool> seen(static_cast<size_t>(layout.size()));
    for (int64_t rank = 0; rank < layout.ranks(); ++rank) {
      int64_t& place = places[static_cast<size_t>(layout.ElementOf(line, rank))];
      if (place < 0 || place >= layout.size()) continue;
      if (seen[static_cast<size_t>(place)]) {
        place = -1 - place;
      } else {
        seen[static_cast<size_t>(place)] = true;
      }
    }
  }
}

// Places that are as right as the golden ones become these.
void CanonicalisePlaces(const Graph& graph, const PlacesLayout& layout, std::span<const Tensor> inputs,
                        std::span<int64_t> places) {
  MarkRepeated(layout, places);
  if (!graph.At(graph.outputs[0].node).any_tie) return;
  const std::vector<std::vector<double>> elements = ReadElements(inputs);
  const bool has_low = elements.size() > inputs.size();
  const std::vector<double> golden = formula::Evaluate(graph, graph.outputs[0], elements, has_low, {}).value;
  const formula::Evaluation x = formula::Evaluate(graph, layout.numbers(), elements, has_low, {});
  for (int64_t line = 0; line < layout.lines(std::ssize(places)); ++line) {
    RankedLine one;
    for (int64_t i = 0; i < layout.size(); ++i) {
      const auto number = static_cast<size_t>(layout.NumberOf(line, i));
      one.numbers.push_back({x.value[number], has_low ? x.value_lo[number] : 0});
    }
    for (int64_t rank = 0; rank < layout.ranks(); ++rank) {
      const auto at = static_cast<size_t>(layout.ElementOf(line, rank));
      one.golden.push_back(static_cast<int64_t>(golden[at]));
      one.got.push_back(places[at]);
    }
    one.Canonicalise();
    for (int64_t rank = 0; rank < layout.ranks(); ++rank) {
      places[static_cast<size_t>(layout.ElementOf(line, rank))] = one.got[static_cast<size_t>(rank)];
    }
  }
}

}  // namespace

PlacesLayout::PlacesLayout(const Graph& graph, const OutputInfo& output) : numbers_(output) {
  const Node& node = graph.At(output.node);
  ranks_ = graph.Extent(node.axis);
  size_ = graph.Extent(node.from_axis);
  for (size_t i = output.axes.size(); output.axes[i - 1] != node.axis; --i) stride_ *= graph.Extent(output.axes[i - 1]);
  numbers_.node = node.args[0];
  std::ranges::replace(numbers_.axes, node.axis, node.from_axis);
}

std::function<bool(int64_t element, int64_t place)> PlacesThatMayStand(const Graph& graph,
                                                                       const std::vector<std::vector<double>>& inputs,
                                                                       bool double_double,
                                                                       const formula::ErrorRules& rules) {
  Graph of_values = graph;
  Node node = graph.At(graph.outputs[0].node);
  node.places = false;
  of_values.nodes.push_back(node);
  OutputInfo ranks = graph.outputs[0];
  ranks.node = static_cast<int>(of_values.nodes.size()) - 1;
  const PlacesLayout layout(graph, graph.outputs[0]);
  const std::span<const formula::ErrorRules> all(&rules, 1);
  return [layout, held = formula::Evaluate(of_values, ranks, inputs, double_double, all),
          numbers = formula::Evaluate(graph, layout.numbers(), inputs, double_double, all)](int64_t element,
                                                                                            int64_t place) {
    const auto rank = static_cast<size_t>(element);
    const auto number = static_cast<size_t>(layout.NumberOf(layout.LineOf(element), place));
    const double reach = held.reach[0][rank] + numbers.reach[0][number];
    if (reach == kInfinity || formula::AreAlike(numbers.value[number], held.value[rank])) return true;
    return std::fabs(numbers.value[number] - held.value[rank]) <= reach * (1 + 0x1p-40);
  };
}

void FormulaOperator::Canonicalise(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                   Tensor& got) const {
  const DType type = problem.outputs[output].dtype;
  if (type != DType::kI64 && type != DType::kI32) return;  // no places: most outputs, each time that one is judged
  const Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const OutputInfo& info = graph.outputs[0];
  const Node& node = graph.At(info.node);
  if (node.kind != formula::Kind::kTopK || !node.places) return;

  const PlacesLayout layout(graph, info);
  if (type == DType::kI64) return CanonicalisePlaces(graph, layout, inputs, got.As<int64_t>());
  std::vector<int64_t> places;
  for (const int32_t place : got.As<int32_t>()) places.push_back(place);
  CanonicalisePlaces(graph, layout, inputs, places);
  std::ranges::transform(places, got.As<int32_t>().begin(), [](int64_t place) { return static_cast<int32_t>(place); });
}

}  // namespace assay
