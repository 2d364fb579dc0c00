// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/evaluate.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "harness/base/check.h"
#include "harness/base/float_environment.h"
#include "harness/base/parallel.h"
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
        return to.Move(index, values_.places());
      case Kind::kScatterAdd:
        return to.Scatter(index, {values_.Hi(node.args[0]), values_.Hi(node.args[1]), v}, values_.places());
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
  // Of a propagation by its number, whose kernels take other arrangements than the formula's.
  struct Rearranged {
    size_t propagation;
    Products products;
    Arrangements sums;
  };
  std::vector<Rearranged> rearranged_;
};

}  // namespace

Evaluation Evaluate(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> rules) {
  RequireFloatEnvironment("golden formula");
  const BlockPlan plan(graph, output);
  const NodeSpaces spaces(plan);
  const Expansion to_output(plan, graph.At(output.node).axes, OutputSet(output));
  const std::vector<int64_t> inner = plan.InnerOffsets(output.axes);
  const auto size = static_cast<size_t>(graph.ExtentOf(OutputSet(output)));
  Evaluation result;
  result.value.resize(size);
  if (double_double) result.value_lo.resize(size);
  result.reach.assign(rules.size(), std::vector<double>(size));
  result.beside.resize(rules.size());
  result.any_instead_of_nan.assign(rules.size(), 0);
  std::mutex sizing;
  const auto beside_of = [&](size_t rule) -> std::vector<double>& {
    const std::lock_guard lock(sizing);
    result.beside[rule].resize(size);
    return result.beside[rule];
  };

  const int64_t blocks = (plan.lanes() + plan.block() - 1) / plan.block();
  ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    Worker worker(plan, spaces, double_double, rules);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * plan.block(), lanes = std::min(plan.block(), plan.lanes() - first);
      worker.Run(first, lanes, inputs);
      const std::vector<int64_t> lane_offsets = plan.LaneOffsets(output.axes, first, lanes);
      std::vector<double> wide;
      const auto store = [&](std::span<const double> from, std::vector<double>& to) {
        if (!to_output.trivial()) {
          wide.resize(inner.size() * (plan.HasLanes(OutputSet(output)) ? static_cast<size_t>(lanes) : 1));
          to_output.Run(from.data(), lanes, wide.data());
          from = wide;
        }
        const double* next = from.data();
        for (const int64_t offset : inner) {
          for (const int64_t lane : lane_offsets) to[static_cast<size_t>(offset + lane)] = *next++;
        }
      };
      store(worker.values().Hi(output.node), result.value);
      if (double_double) store(worker.values().Lo(output.node), result.value_lo);
      for (size_t i = 0; i < rules.size(); ++i) {
        const NodeError& error = worker.propagations()[i].At(output.node);
        if (!error.zero) store(error.reach, result.reach[i]);
        if (!error.beside.empty()) store(std::vector<double>(error.beside.begin(), error.beside.end()), beside_of(i));
      }
    }
    for (size_t i = 0; i < rules.size(); ++i) {
      if (worker.propagations()[i].any_instead_of_nan()) std::atomic_ref(result.any_instead_of_nan[i]).store(1);
    }
  });
  return result;
}

}  // namespace assay::formula
