// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "golden/value_range.h"
#include "harness/core/base/parallel.h"

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
  Graph part{.axes = graph.axes, .nodes = {}, .inputs = graph.inputs, .outputs = {}, .limits = {}, .wraps = {}};
  for (size_t at = 0; at < needed.size(); ++at) part.nodes.push_back(needed[at] ? graph.nodes[at] : Node{});
  return part;
}

// Whether inputs are used as they are.
bool KeepsInputs(const ErrorRules& rules, size_t input) {
  const InputRule rule = input < rules.inputs.size() ? rules.inputs[input] : InputRule{};
  return rule.relative == 0 && rule.lost_below == 0 && rule.overflow_at == 0;
}

// Calls put(place, number) for a block's array of the output.
template <class Put>
void ForPlaces(const BlockPlan& plan, const std::vector<int64_t>& inner, const LaneRange& lanes, const Put& put) {
  const std::vector<int64_t> of_lanes = plan.LaneOffsets(plan.output(), lanes);
  size_t number = 0;
  for (const int64_t offset : inner) {
    for (const int64_t lane : of_lanes) put(static_cast<size_t>(offset + lane), number++);
  }
}

// 1 where a number or its reach is not finite, else 0.
std::vector<double> FlagNonFinite(std::span<const double> values, const NodeError& error) {
  std::vector<double> flags(values.size());
  for (size_t i = 0; i < flags.size(); ++i) {
    flags[i] = std::fabs(values[i]) + error.ReachAt(i) < std::numeric_limits<double>::infinity() ? 0 : 1;
  }
  return flags;
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
                             bool double_double, std::span<const ErrorRules> rules, int64_t most_held)
    : whole_{&graph, output.node},
      output_(output),
      rules_(rules),
      double_double_(double_double),
      inputs_(inputs.begin(), inputs.end()),
      notes_(rules.size()) {
  if (!double_double) {
    const std::vector<MatrixProduct> contractions = FindMatrixProducts(graph, output.node);
    for (const MatrixProduct& contraction : contractions) {
      const bool is_held = graph.ExtentOf(SetOf(contraction.SumLayout())) <= most_held;
      if (is_held && HoldsFactors(graph, contraction)) Store(contraction);
    }
  }
  if (stored() > 0) graph_ = PartOf(graph_, output.node);
  last_ = StageOf(stored() > 0 ? graph_ : graph, output_);
}

const StoredNode* StagedFormula::FindStoredOutput() const {
  const Node& sum = last_.graph->At(output_.node);
  if (sum.kind != Kind::kSum || sum.reduced != 0 || sum.recomputed) return nullptr;
  const Node& only = last_.graph->At(sum.args[0]);
  const auto is_slice = [](const AxisInfo& axis) { return axis.whole != 0; };
  if (std::ranges::any_of(last_.graph->axes, is_slice)) return nullptr;
  const size_t own = whole_.graph->inputs.size(), input = static_cast<size_t>(only.input);
  if (only.kind != Kind::kIn || input < own || last_.graph->inputs[input].axes != output_.axes) return nullptr;
  return &stored_[input - own];
}

Stage StagedFormula::StageOf(const Graph& graph, const OutputInfo& output) const {
  return {&graph, &output, whole_, inputs_, stored_};
}

void StagedFormula::Store(const MatrixProduct& contraction) {
  const Graph& graph = *whole_.graph;
  if (stored() == 0) {
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

std::optional<WholeFactor> StagedFormula::ReadFactor(int node, const std::vector<int>& layout) const {
  const Node& info = graph_.At(node);
  if (info.kind != Kind::kIn || static_cast<size_t>(info.input) >= whole_.graph->inputs.size()) return std::nullopt;
  const auto input = static_cast<size_t>(info.input);
  const std::span<const double> elements = inputs_[input];
  const bool is_whole = std::ssize(elements) == graph_.ExtentOf(SetOf(layout));
  if (graph_.inputs[input].axes != layout || !is_whole) return std::nullopt;
  WholeFactor factor;
  factor.value.resize(elements.size());
  SizeRange range{.has_zero = true};
  std::mutex mutex;
  ParallelFor(std::ssize(elements), 1 << 14, [&](int64_t begin, int64_t end) {
    const auto part = elements.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    std::ranges::copy(part, factor.value.begin() + begin);
    const ValueRange found = assay::RangeOf(part.data(), end - begin);
    const std::lock_guard lock(mutex);
    range.Join({found.max_abs, found.min_abs, found.all_finite, true});
  });
  for (const ErrorRules& rules : rules_) {
    if (!KeepsInputs(rules, input) || !range.all_finite || range.most > rules.range) return std::nullopt;
    factor.parts.push_back({range});
    factor.most.push_back(std::max(range.most, 1.0));
  }
  factor.errors.resize(rules_.size());
  return factor;
}

WholeFactor StagedFormula::EvaluateFactor(int node, const std::vector<int>& layout,
                                          const std::vector<ProductFactor>& parts) {
  if (std::optional<WholeFactor> factor = ReadFactor(node, layout)) return *std::move(factor);
  const Graph graph = PartOf(graph_, node);
  const OutputInfo output{.name = {}, .axes = layout, .node = node, .holds_slice = true};
  const BlockPlan plan(graph, output);
  const int64_t size = graph.ExtentOf(SetOf(layout));
  WholeFactor factor;
  factor.value.resize(static_cast<size_t>(size));
  factor.parts.assign(rules_.size(), std::vector<SizeRange>(parts.size()));
  factor.most.resize(rules_.size());
  std::deque<WholeErrors> errors;
  for (size_t i = 0; i < rules_.size(); ++i) errors.emplace_back(size);
  const std::vector<int64_t> inner = plan.InnerOffsets(output);
  std::vector<Expansion> of_parts;
  for (const ProductFactor& part : parts) {
    of_parts.emplace_back(plan, graph.At(part.node).axes, graph.At(node).axes);
  }
  std::mutex mutex;
  const auto use = [&](const BlockWorker& worker, const LaneRange& lanes) {
    const auto store = [&](std::span<const double> from, double* to) {
      ForPlaces(plan, inner, lanes, [&](size_t place, size_t number) { to[place] = from[number]; });
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
      std::vector<int64_t> special;
      for (size_t k = 0; k < parts.size(); ++k) {
        if (ranges[k].all_finite) continue;
        const std::vector<double> flags =
            FlagNonFinite(worker.values().Hi(parts[k].node), worker.propagations()[i].At(parts[k].node));
        std::vector<double> wide;
        const double* flag = of_parts[k].Of(flags, lanes.count, worker.values().Hi(node).size(), wide);
        ForPlaces(plan, inner, lanes, [&](size_t place, size_t number) {
          if (flag[number] != 0) special.push_back(static_cast<int64_t>(place));
        });
      }
      const std::lock_guard lock(mutex);
      factor.special.insert(factor.special.end(), special.begin(), special.end());
      factor.most[i] = std::max(factor.most[i], most);
      for (size_t k = 0; k < parts.size(); ++k) factor.parts[i][k].Join(ranges[k]);
    }
  };
  notes_.Join(RunBlocks(plan, StageOf(graph, output), double_double_, rules_, {}, use));
  for (WholeErrors& of_rule : errors) factor.errors.push_back(of_rule.Take());
  return factor;
}

// They stand for the only terms of sums, so that the sums' own errors become theirs.
void StagedFormula::EvaluateSpecial(const MatrixProduct& contraction, Contracted& contracted) {
  if (contracted.special.empty()) return;
  const Graph graph = PartOf(graph_, contraction.sum);
  const OutputInfo output{.name = {}, .axes = contraction.SumLayout(), .node = contraction.sum, .holds_slice = true};
  const BlockPlan plan(graph, output);
  const std::vector<int64_t> lanes = plan.LanesOf(contracted.special);
  StoredNode& sums = contracted.sums;
  const size_t size = sums.value.size();
  for (NodeError& error : sums.errors) {
    error.zero = false;
    error.r.resize(size);
  }
  const std::vector<int64_t> inner = plan.InnerOffsets(output);
  std::mutex mutex;
  const auto use = [&](const BlockWorker& worker, const LaneRange& range) {
    const std::lock_guard lock(mutex);
    ForPlaces(plan, inner, range, [&](size_t place, size_t number) {
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
  Stage stage = StageOf(graph, output);
  stage.stored_later = contraction.sum;
  notes_.Join(RunBlocks(plan, stage, double_double_, rules_, lanes, use));
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
  graph_.inputs.push_back({.name = {}, .axes = contraction.SumLayout(), .places_along = -1, .holds_slice = true});
  stored_.push_back(std::move(sums));
  inputs_.push_back(stored_.back().value);
}

}  // namespace assay::formula
