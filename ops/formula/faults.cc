// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/core/data/dtype.h"

namespace assay::formula {
namespace {

double Round(const Narrowing& narrowing, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::ldexp(1.0, std::ilogb(x) - narrowing.bits + 1);
  if (narrowing.cut) return std::trunc(x / unit) * unit;
  if (narrowing.format) return RoundTo(FormatOf(*narrowing.format), x);
  return std::nearbyint(x / unit) * unit;
}

void RoundAll(const Narrowing& narrowing, std::span<double> values) {
  for (double& value : values) value = Round(narrowing, value);
}

}  // namespace

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

double LaneEvaluator::CountValues() const {
  double count = 0;
  for (const Node& node : plan_.graph().nodes) count += static_cast<double>(plan_.Size(node.axes | node.reduced, 1));
  return count;
}

std::span<const double> LaneEvaluator::Run(int64_t lane, Fault fault) {
  values_.Begin({lane}, fault);
  for (int node = 0; node < static_cast<int>(plan_.graph().nodes.size()); ++node) values_.Compute(node, inputs_);
  return values_.Hi(plan_.output().node);
}

std::span<const double> LaneEvaluator::RunNarrowed(int64_t lane, const Narrowing& narrowing) {
  values_.Begin({lane}, {});
  for (int node = 0; node < static_cast<int>(plan_.graph().nodes.size()); ++node) {
    const bool is_user = node == narrowing.user;
    std::vector<double> kept;
    if (is_user) {
      const std::span<const double> wide = values_.Hi(narrowing.node);
      kept.assign(wide.begin(), wide.end());
      Narrow(narrowing);
    }
    values_.Compute(node, inputs_);
    if (is_user) std::ranges::copy(kept, values_.MutableHi(narrowing.node).begin());
    if (narrowing.of_operands && plan_.graph().At(node).kind == Kind::kIn) RoundAll(narrowing, values_.MutableHi(node));
    if (node == narrowing.node && narrowing.user < 0) Narrow(narrowing);
  }
  return values_.Hi(plan_.output().node);
}

// The node was computed last, unless one user alone reads it so.
void LaneEvaluator::Narrow(const Narrowing& narrowing) {
  const std::span<double> values = values_.MutableHi(narrowing.node);
  switch (narrowing.what) {
    case Narrowing::What::kResult:
      return RoundAll(narrowing, values);
    case Narrowing::What::kRunningSum:
    case Narrowing::What::kBlockTerms:
    case Narrowing::What::kBlocks:
    case Narrowing::What::kOnce:
      return AddNarrowly(narrowing);
    case Narrowing::What::kReciprocal:
      const Operands& x = values_.operands();
      for (size_t i = 0; i < values.size(); ++i) values[i] = x[0][i] * Round(narrowing, 1 / x[1][i]);
  }
}

void LaneEvaluator::AddNarrowly(const Narrowing& narrowing) {
  const std::span<double> sums = values_.MutableHi(narrowing.node);
  const std::span<const double> terms = values_.Hi(plan_.graph().At(narrowing.node).args[0]);
  const std::vector<int64_t>& places = spaces_.places[static_cast<size_t>(narrowing.node)];
  const size_t width = terms.size() / places.size();
  std::ranges::fill(sums, 0);
  std::vector<double> blocks(sums.size());  // of those that are added by themselves, the sum so far
  std::vector<int64_t> counts(sums.size() / width);
  const auto last = static_cast<int64_t>(places.size() / counts.size());
  for (size_t k = 0; k < places.size(); ++k) {
    const int64_t count = ++counts[static_cast<size_t>(places[k])];
    const bool is_once = narrowing.what == Narrowing::What::kOnce;
    const bool is_stored = is_once ? count == narrowing.every : count % narrowing.every == 0 || count == last;
    for (size_t i = 0; i < width; ++i) {
      const size_t at = static_cast<size_t>(places[k]) * width + i;
      const bool is_whole = is_once || narrowing.what == Narrowing::What::kRunningSum;
      double& sum = is_whole ? sums[at] : blocks[at];
      sum += terms[k * width + i];
      if (is_stored || narrowing.what == Narrowing::What::kBlockTerms) sum = Round(narrowing, sum);
      if (is_stored && !is_whole) sums[at] += std::exchange(sum, 0);
    }
  }
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
