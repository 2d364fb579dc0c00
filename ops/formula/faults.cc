// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/faults.h"

namespace assay::formula {

LaneEvaluator::LaneEvaluator(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs)
    : plan_(graph, output),
      spaces_(plan_),
      values_(plan_, spaces_, false),
      inputs_(inputs.begin(), inputs.end()),
      inner_(plan_.InnerOffsets(output)) {}

std::vector<int64_t> LaneEvaluator::Elements(int64_t lane) const {
  const int64_t offset = plan_.LaneOffsets(plan_.output(), {lane})[0];
  std::vector<int64_t> elements;
  for (const int64_t inner : inner_) elements.push_back(inner + offset);
  return elements;
}

std::span<const double> LaneEvaluator::Run(int64_t lane, Fault fault) {
  values_.Begin({lane}, fault);
  for (int node = 0; node < static_cast<int>(plan_.graph().nodes.size()); ++node) values_.Compute(node, inputs_);
  return values_.Hi(plan_.output().node);
}

std::vector<FaultyNode> FaultyNodes(const Graph& graph) {
  std::vector<FaultyNode> nodes;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.At(i);
    if (node.shown_elsewhere) continue;
    const bool has_places = node.kind == Kind::kGather || node.kind == Kind::kScatterAdd;
    if (IsReduction(node.kind) || has_places) nodes.push_back({i, graph.ExtentOf(node.reduced)});
    if (node.kind == Kind::kRecur || node.kind == Kind::kTopK) nodes.push_back({i, graph.Extent(node.axis)});
  }
  return nodes;
}

bool ShowsOnAnyData(const Node& node) {
  return node.kind == Kind::kTopK || node.kind == Kind::kGather || node.kind == Kind::kMax || node.kind == Kind::kMin;
}

}  // namespace assay::formula
