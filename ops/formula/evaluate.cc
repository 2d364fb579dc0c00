// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/evaluate.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "harness/core/base/check.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"
#include "ops/formula/arrangements.h"
#include "ops/formula/products.h"
#include "ops/formula/values.h"

namespace assay::formula {
namespace {

// One thread's work on the blocks that it gets.
class Worker {
 public:
  Worker(const BlockPlan& plan, const NodeSpaces& spaces, bool double_double, std::span<const ErrorRules> rules)
      : plan_(plan), spaces_(spaces), values_(plan, spaces, double_double) {
    for (const ErrorRules& one : rules) {
      propagations_.emplace_back(plan, one);
      if (!one.rearranges) continue;
      rearranged_.push_back({propagations_.size() - 1, Products(plan, one), Arrangements(plan, spaces, one)});
    }
  }

  void Run(int64_t first, int64_t lanes, std::span<const std::vector<double>> inputs) {
    values_.Begin(first, lanes);
    for (Propagation& propagation : propagations_) propagation.Begin(lanes);
    for (int node = 0; node < static_cast<int>(plan_.graph().nodes.size()); ++node) {
      values_.Compute(node, inputs);
      for (Propagation& propagation : propagations_) Propagate(node, propagation);
      for (const Rearranged& other : rearranged_) {
        Propagation& propagation = propagations_[other.propagation];
        const Products::Costs costs = other.products.CostsOf(node, values_, propagation, lanes);
        propagation.Widen(node, costs.further);
        propagation.Admit(node, values_.Hi(node), costs.beside);
      }
    }
    for (Rearranged& other : rearranged_) {
      Propagation& propagation = propagations_[other.propagation];
      const int output = plan_.output().node;
      propagation.Open(output, values_.Hi(output), other.sums.Open(values_, propagation, lanes));
    }
  }

  const BlockValues& values() const { return values_; }
  const std::vector<Propagation>& propagations() const { return propagations_; }

 private:
  void Propagate(int index, Propagation& to) const {
    const Node& node = plan_.graph().At(index);
    const std::span<const double> v = values_.Hi(index);
    switch (node.kind) {
      case Kind::kIn:
        return to.Input(index, v);
      case Kind::kConst:
        return to.Constant(index);
      case Kind::kIndex:
        return;
      case Kind::kMap:
        return to.Map({index, values_.operands(), v.data(), std::ssize(v)},
                      spaces_.expansions[static_cast<size_t>(index)]);
      case Kind::kRecur: {
        const Operands& x = values_.operands();
        const double* b = x[node.args.size() - 1];
        return to.Recur(index, x[0], {b, v.size()}, v, spaces_.expansions[static_cast<size_t>(index)]);
      }
      case Kind::kAt:
        return to.Move(index, spaces_.places[static_cast<size_t>(index)]);
      case Kind::kRound:
        return to.Round(index, v);
      case Kind::kGather:
        return to.Gather(index, {values_.Hi(node.args[0]), values_.Hi(node.args[1]), v}, values_.places());
      case Kind::kScatterAdd:
        return to.Scatter(index, {values_.Hi(node.args[0]), values_.Hi(node.args[1]), values_.Hi(node.args[2]), v},
                          values_.places());
      case Kind::kTopK:
        return to.Select(index, values_.Hi(node.args[0]), v);
      default:
        return to.Reduce(index, values_.Hi(node.args[0]), v, spaces_.places[static_cast<size_t>(index)]);
    }
  }

  const BlockPlan& plan_;
  const NodeSpaces& spaces_;
  BlockValues values_;
  std::vector<Propagation> propagations_;
  // Arrangements for the propagations whose kernels may reorder the formula, by the propagation's number.
  struct Rearranged {
    size_t propagation;
    Products products;
    Arrangements sums;
  };
  std::vector<Rearranged> rearranged_;
};

// The arrays of a worker's block in the space of the output.
class OutputArrays {
 public:
  OutputArrays(const BlockPlan& plan, const NodeSpaces& spaces, bool double_double, std::span<const ErrorRules> rules)
      : plan_(plan),
        worker_(plan, spaces, double_double, rules),
        expansion_(plan, plan.graph().At(plan.output().node).axes, OutputSet(plan.output())) {}

  EvaluatedBlock Evaluate(int64_t first, int64_t lanes, std::span<const std::vector<double>> inputs) {
    worker_.Run(first, lanes, inputs);
    expanded_.clear(), beside_.clear();
    const int output = plan_.output().node;
    EvaluatedBlock block;
    block.value = InOutput(worker_.values().Hi(output), lanes);
    block.value_lo = InOutput(worker_.values().Lo(output), lanes);
    for (const Propagation& propagation : worker_.propagations()) {
      const NodeError& error = propagation.At(output);
      block.reach.push_back(error.zero ? std::span<const double>() : InOutput(error.reach, lanes));
      block.beside.push_back(InOutput(beside_.emplace_back(error.beside.begin(), error.beside.end()), lanes));
    }
    return block;
  }

  const std::vector<Propagation>& propagations() const { return worker_.propagations(); }

 private:
  std::span<const double> InOutput(std::span<const double> from, int64_t lanes) {
    if (expansion_.trivial() || from.empty()) return from;
    const AxisSet axes = OutputSet(plan_.output());
    std::vector<double>& to = expanded_.emplace_back(static_cast<size_t>(plan_.Size(axes, lanes)));
    expansion_.Run(from.data(), lanes, to.data());
    return to;
  }

  const BlockPlan& plan_;
  Worker worker_;
  const Expansion expansion_;
  std::deque<std::vector<double>> expanded_, beside_;  // of the last block
};

void Store(const EvaluatedBlock& block, std::span<const double> from, std::vector<double>& to) {
  const double* next = from.data();
  for (const int64_t offset : block.inner) {
    for (const int64_t lane : block.lanes) to[static_cast<size_t>(offset + lane)] = *next++;
  }
}

}  // namespace

std::vector<uint8_t> EvaluateBlocks(const Graph& graph, const OutputInfo& output,
                                    std::span<const std::vector<double>> inputs, bool double_double,
                                    std::span<const ErrorRules> rules,
                                    const std::function<void(const EvaluatedBlock&)>& use) {
  RequireFloatEnvironment("golden formula");
  const BlockPlan plan(graph, output);
  const NodeSpaces spaces(plan);
  const std::vector<int64_t> inner = plan.InnerOffsets(output.axes);
  std::vector<uint8_t> any_instead_of_nan(rules.size());
  const int64_t blocks = (plan.lanes() + plan.block() - 1) / plan.block();
  ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    OutputArrays arrays(plan, spaces, double_double, rules);
    for (int64_t number = begin; number < end; ++number) {
      const int64_t first = number * plan.block(), lanes = std::min(plan.block(), plan.lanes() - first);
      EvaluatedBlock block = arrays.Evaluate(first, lanes, inputs);
      const std::vector<int64_t> lane_offsets = plan.LaneOffsets(output.axes, first, lanes);
      block.inner = inner, block.lanes = lane_offsets;
      use(block);
    }
    for (size_t i = 0; i < rules.size(); ++i) {
      if (arrays.propagations()[i].any_instead_of_nan()) std::atomic_ref(any_instead_of_nan[i]).store(1);
    }
  });
  return any_instead_of_nan;
}

Evaluation Evaluate(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> rules) {
  const auto size = static_cast<size_t>(graph.ExtentOf(OutputSet(output)));
  Evaluation result;
  result.value.resize(size);
  if (double_double) result.value_lo.resize(size);
  result.reach.assign(rules.size(), std::vector<double>(size));
  result.beside.resize(rules.size());
  std::mutex sizing;
  const auto beside_of = [&](size_t rule) -> std::vector<double>& {
    const std::lock_guard lock(sizing);
    result.beside[rule].resize(size);
    return result.beside[rule];
  };
  const auto store = [&](const EvaluatedBlock& block) {
    Store(block, block.value, result.value);
    if (double_double) Store(block, block.value_lo, result.value_lo);
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!block.reach[i].empty()) Store(block, block.reach[i], result.reach[i]);
      if (!block.beside[i].empty()) Store(block, block.beside[i], beside_of(i));
    }
  };
  result.any_instead_of_nan = EvaluateBlocks(graph, output, inputs, double_double, rules, store);
  return result;
}

}  // namespace assay::formula
