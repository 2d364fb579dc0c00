// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/evaluate.h"

#include <deque>
#include <mutex>

#include "ops/formula/stages.h"

namespace assay::formula {
namespace {

// The arrays of a worker's block in the space of the output.
class OutputArrays {
 public:
  OutputArrays(const BlockPlan& plan, const Expansion& expansion, const LaneRange& lanes)
      : plan_(plan), expansion_(expansion), lanes_(lanes.count) {}

  void Give(const BlockWorker& worker, std::span<const int64_t> inner, std::span<const int64_t> lanes,
            const std::function<void(const EvaluatedBlock&)>& use) {
    const int output = plan_.output().node;
    EvaluatedBlock block{.inner = inner, .lanes = lanes, .value = {}, .value_lo = {}, .reach = {}, .beside = {}};
    block.value = InOutput(worker.values().Hi(output));
    block.value_lo = InOutput(worker.values().Lo(output));
    for (const Propagation& propagation : worker.propagations()) {
      const NodeError& error = propagation.At(output);
      block.reach.push_back(error.zero ? std::span<const double>() : InOutput(error.reach));
      block.beside.push_back(InOutput(beside_.emplace_back(error.beside.begin(), error.beside.end())));
    }
    use(block);
  }

 private:
  std::span<const double> InOutput(std::span<const double> from) {
    if (expansion_.trivial() || from.empty()) return from;
    const AxisSet axes = OutputSet(plan_.output());
    std::vector<double>& to = expanded_.emplace_back(static_cast<size_t>(plan_.Size(axes, lanes_)));
    expansion_.Run(from.data(), lanes_, to.data());
    return to;
  }

  const BlockPlan& plan_;
  const Expansion& expansion_;
  int64_t lanes_;
  std::deque<std::vector<double>> expanded_, beside_;
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
  const StagedFormula staged(graph, output, inputs, double_double, rules);
  const Stage& stage = staged.last();
  const BlockPlan plan(*stage.graph, output);
  const std::vector<int64_t> inner = plan.InnerOffsets(output.axes);
  const Expansion expansion(plan, graph.At(output.node).axes, OutputSet(output));
  StageNotes notes =
      RunBlocks(plan, stage, double_double, rules, {}, [&](const BlockWorker& worker, const LaneRange& lanes) {
        const std::vector<int64_t> lane_offsets = plan.LaneOffsets(output.axes, lanes);
        OutputArrays(plan, expansion, lanes).Give(worker, inner, lane_offsets, use);
      });
  notes.Join(staged.notes());
  return notes.any_instead_of_nan;
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
