// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/stages.h"

#include <algorithm>
#include <mutex>

#include "harness/core/data/infinity.h"

namespace assay::formula {
namespace {

// The nodes that lead to one of them; constants stand for the others.
Graph PartOf(const Graph& graph, int node) {
  std::vector<bool> needed(graph.nodes.size());
  needed[static_cast<size_t>(node)] = true;
  for (size_t at = needed.size(); at-- > 0;) {
    if (!needed[at]) continue;
    for (const int arg : graph.nodes[at].args) needed[static_cast<size_t>(arg)] = true;
  }
  Graph part{.axes = graph.axes, .nodes = {}, .inputs = graph.inputs, .outputs = {}, .limits = {}};
  for (size_t at = 0; at < needed.size(); ++at) part.nodes.push_back(needed[at] ? graph.nodes[at] : Node{});
  return part;
}

// Calls put(place, number) for a block's array of a node, whose axes lie as the layout says.
template <class Put>
void ForPlaces(const BlockPlan& plan, const std::vector<int64_t>& inner, const std::vector<int>& layout,
               const LaneRange& lanes, const Put& put) {
  const std::vector<int64_t> of_lanes = plan.LaneOffsets(layout, lanes);
  size_t number = 0;
  for (const int64_t offset : inner) {
    for (const int64_t lane : of_lanes) put(static_cast<size_t>(offset + lane), number++);
  }
}

// One propagation's errors of a node for all lanes, from blocks.
class WholeErrors {
 public:
  explicit WholeErrors(int64_t size) : size_(static_cast<size_t>(size)) {}

  // The array of a symbol, or of all else (id -1); zeros at first.
  double* Array(int id, AxisSet axes) {
    const std::lock_guard lock(mutex_);
    error_.zero = false;
    if (error_.r.empty()) error_.r.resize(size_);
    if (id < 0) return error_.r.data();
    for (NodeError::Symbol& symbol : error_.symbols) {
      if (symbol.id == id) return symbol.g.data();
    }
    return error_.symbols.emplace_back(NodeError::Symbol{id, axes, std::vector<double>(size_)}).g.data();
  }

  NodeError Take() { return std::move(error_); }

 private:
  size_t size_;
  std::mutex mutex_;
  NodeError error_;
};

}  // namespace

StagedFormula::StagedFormula(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                             bool double_double, std::span<const ErrorRules> rules)
    : whole_{&graph, output.node},
      output_(output),
      rules_(rules),
      double_double_(double_double),
      inputs_(inputs.begin(), inputs.end()),
      notes_(rules.size()) {
  if (!double_double) {
    const std::vector<MatrixProduct> contractions = FindMatrixProducts(graph, output.node);
    for (const MatrixProduct& contraction : contractions) Store(contraction);
  }
  if (stores()) graph_ = PartOf(graph_, output.node);
  last_ = StageOf(stores() ? graph_ : graph, output_);
}

Stage StagedFormula::StageOf(const Graph& graph, const OutputInfo& output) const {
  return {&graph, &output, whole_, inputs_, stored_};
}

void StagedFormula::Store(const MatrixProduct& contraction) {
  const Graph& graph = *whole_.graph;
  if (!stores()) {
    graph_ = graph;
    inputs_.resize(graph.inputs.size());  // low parts are of double-double
  }
  WholeFactor left = EvaluateFactor(contraction.left, contraction.LeftLayout(), contraction.left_parts);
  WholeFactor right = EvaluateFactor(contraction.right, contraction.RightLayout(), contraction.right_parts);
  const bool is_known_sum = KnownSums(graph).is_sum[static_cast<size_t>(contraction.product)];
  std::optional<Contracted> contracted =
      ContractFactors(graph_, contraction, std::move(left), std::move(right), rules_, is_known_sum);
  if (!contracted) return;
  EvaluateSpecial(contraction, *contracted);
  Replace(contraction, std::move(contracted->sums));
}

WholeFactor StagedFormula::EvaluateFactor(int node, const std::vector<int>& layout,
                                          const std::vector<ProductFactor>& parts) {
  const Graph graph = PartOf(graph_, node);
  const OutputInfo output{.name = {}, .axes = layout, .node = node};
  const BlockPlan plan(graph, output);
  const int64_t size = graph.ExtentOf(SetOf(layout));
  WholeFactor factor;
  factor.value.resize(static_cast<size_t>(size));
  factor.parts.assign(rules_.size(), std::vector<SizeRange>(parts.size()));
  factor.most.resize(rules_.size());
  std::deque<WholeErrors> errors;
  for (size_t i = 0; i < rules_.size(); ++i) errors.emplace_back(size);
  const std::vector<int64_t> inner = plan.InnerOffsets(layout);
  std::mutex mutex;
  const auto use = [&](const BlockWorker& worker, const LaneRange& lanes) {
    const auto store = [&](std::span<const double> from, double* to) {
      ForPlaces(plan, inner, layout, lanes, [&](size_t place, size_t number) { to[place] = from[number]; });
    };
    store(worker.values().Hi(node), factor.value.data());
    for (size_t i = 0; i < rules_.size(); ++i) {
      const NodeError& error = worker.propagations()[i].At(node);
      if (!error.zero) store(error.r, errors[i].Array(-1, 0));
      for (const NodeError::Symbol& symbol : error.symbols) store(symbol.g, errors[i].Array(symbol.id, symbol.axes));
      if (!rules_[i].rearranges) continue;
      const double most = worker.BoundSize(i, node);
      std::vector<SizeRange> ranges(parts.size());
      for (size_t k = 0; k < parts.size(); ++k) {
        ranges[k].Add(worker.values().Hi(parts[k].node), worker.propagations()[i].At(parts[k].node));
      }
      const std::lock_guard lock(mutex);
      factor.most[i] = std::max(factor.most[i], most);
      for (size_t k = 0; k < parts.size(); ++k) factor.parts[i][k].Join(ranges[k]);
    }
  };
  notes_.Join(RunBlocks(plan, StageOf(graph, output), double_double_, rules_, {}, use));
  for (WholeErrors& of_rule : errors) factor.errors.push_back(of_rule.Take());
  return factor;
}

// As terms of a sum that has one: all of the sum's own error is theirs.
void StagedFormula::EvaluateSpecial(const MatrixProduct& contraction, Contracted& contracted) {
  if (contracted.special.empty()) return;
  const Graph graph = PartOf(graph_, contraction.sum);
  const OutputInfo output{.name = {}, .axes = contraction.SumLayout(), .node = contraction.sum};
  const BlockPlan plan(graph, output);
  std::vector<int64_t> lanes;
  for (const int64_t element : contracted.special) lanes.push_back(plan.LaneOf(element));
  std::ranges::sort(lanes);
  lanes.erase(std::ranges::unique(lanes).begin(), lanes.end());
  StoredNode& sums = contracted.sums;
  const size_t size = sums.value.size();
  for (NodeError& error : sums.errors) {
    error.zero = false;
    error.r.resize(size);
  }
  const std::vector<int64_t> inner = plan.InnerOffsets(output.axes);
  std::mutex mutex;
  const auto use = [&](const BlockWorker& worker, const LaneRange& range) {
    const std::lock_guard lock(mutex);
    ForPlaces(plan, inner, output.axes, range, [&](size_t place, size_t number) {
      sums.value[place] = worker.values().Hi(contraction.sum)[number];
      for (size_t i = 0; i < rules_.size(); ++i) {
        const NodeError& error = worker.propagations()[i].At(contraction.sum);
        NodeError& to = sums.errors[i];
        to.r[place] = error.zero ? 0 : error.r[number];
        for (NodeError::Symbol& symbol : to.symbols) symbol.g[place] = 0;
        for (const NodeError::Symbol& symbol : error.symbols) {
          if (symbol.id == contraction.sum) {
            to.r[place] += std::fabs(symbol.g[number]);
            continue;
          }
          auto found = std::ranges::find(to.symbols, symbol.id, &NodeError::Symbol::id);
          if (found == to.symbols.end()) {
            to.symbols.push_back({symbol.id, symbol.axes, std::vector<double>(size)});
            found = to.symbols.end() - 1;
          }
          found->g[place] = symbol.g[number];
        }
      }
    });
  };
  notes_.Join(RunBlocks(plan, StageOf(graph, output), double_double_, rules_, lanes, use));
}

// The product becomes an input, of which the sum is the only term.
void StagedFormula::Replace(const MatrixProduct& contraction, StoredNode sums) {
  Node& product = graph_.nodes[static_cast<size_t>(contraction.product)];
  Node& sum = graph_.nodes[static_cast<size_t>(contraction.sum)];
  product = Node{};
  product.kind = Kind::kIn;
  product.axes = sum.axes;
  product.input = static_cast<int>(graph_.inputs.size());
  sum.reduced = 0;
  graph_.inputs.push_back({.name = {}, .axes = contraction.SumLayout()});
  stored_.push_back(std::move(sums));
  inputs_.push_back(stored_.back().value);
}

}  // namespace assay::formula
