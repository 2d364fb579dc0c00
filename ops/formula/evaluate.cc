// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/evaluate.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>

#include "golden/big_buffer.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/error_loops.h"
#include "ops/formula/stages.h"

namespace assay::formula {
namespace {

// The arrays of a worker's block in the space of the output.
class OutputArrays {
 public:
  OutputArrays(const BlockPlan& plan, const Expansion& expansion, const LaneRange& lanes)
      : plan_(plan), expansion_(expansion), lanes_(lanes.count) {}

  // Its arrays live as long as this, until the worker's next block.
  EvaluatedBlock Of(const BlockWorker& worker) {
    const int output = plan_.output().node;
    EvaluatedBlock block;
    block.value = InOutput(worker.values().Hi(output));
    block.value_lo = InOutput(worker.values().Lo(output));
    for (const Propagation& propagation : worker.propagations()) {
      const NodeError& error = propagation.At(output);
      block.reach.push_back(error.zero ? std::span<const double>() : InOutput(error.reach));
      block.beside.push_back(InOutput(beside_.emplace_back(error.beside.begin(), error.beside.end())));
    }
    return block;
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

StageNotes RunStage(const BlockPlan& plan, const Stage& stage, bool double_double, std::span<const ErrorRules> rules,
                    std::span<const int64_t> list, const std::function<void(const EvaluatedBlock&)>& use) {
  const OutputInfo& output = plan.output();
  const std::vector<int64_t> inner = plan.InnerOffsets(output);
  const Expansion expansion(plan, plan.graph().At(output.node).axes, OutputSet(output));
  return RunBlocks(plan, stage, double_double, rules, list, [&](const BlockWorker& worker, const LaneRange& lanes) {
    const std::vector<int64_t> of_lanes = plan.LaneOffsets(output, lanes);
    OutputArrays arrays(plan, expansion, lanes);
    EvaluatedBlock block = arrays.Of(worker);
    block.inner = inner, block.lanes = of_lanes;
    use(block);
  });
}

// One propagation's reaches of these elements of a stored sum. False: some are beyond the range or not finite, so that
// the ordinary way has to judge them.
bool ReachOf(const NodeError& error, const ErrorRules& rules, std::span<const double> values, int64_t first,
             std::vector<double>& reach) {
  reach.clear();
  if (error.zero) return true;
  const auto n = std::ssize(values);
  reach.assign(error.r.begin() + first, error.r.begin() + first + n);
  for (const NodeError::Symbol& symbol : error.symbols) {
    JoinSymbol(rules.quadrature, symbol.g.data() + first, reach.data(), n);
  }
  double most = 0;
  return AllWithin(values.data(), reach.data(), rules.quadrature ? kInfinity : rules.range, n, most);
}

// Gives the elements of a stored sum that is the output itself; returns those that are left.
std::vector<int64_t> GiveStored(const StoredNode& sums, std::span<const ErrorRules> rules,
                                const std::function<void(const EvaluatedBlock&)>& use) {
  constexpr int64_t kAtOnce = 4096;
  static constexpr int64_t kInner[] = {0};
  std::vector<int64_t> left;
  std::mutex mutex;
  ParallelFor((std::ssize(sums.value) + kAtOnce - 1) / kAtOnce, 1, [&](int64_t begin, int64_t end) {
    std::vector<std::vector<double>> reach(rules.size());
    for (int64_t number = begin; number < end; ++number) {
      const int64_t first = number * kAtOnce, n = std::min(kAtOnce, std::ssize(sums.value) - first);
      const auto values = std::span(sums.value).subspan(static_cast<size_t>(first), static_cast<size_t>(n));
      std::vector<int64_t> elements(static_cast<size_t>(n));
      std::iota(elements.begin(), elements.end(), first);
      bool is_plain = !AnyNonFinite(values.data(), n);
      for (size_t i = 0; i < rules.size(); ++i) {
        is_plain = is_plain && ReachOf(sums.errors[i], rules[i], values, first, reach[i]);
      }
      if (!is_plain) {
        const std::lock_guard lock(mutex);
        left.insert(left.end(), elements.begin(), elements.end());
        continue;
      }
      EvaluatedBlock block{
          .inner = kInner, .lanes = elements, .value = values, .value_lo = {}, .reach = {}, .beside = {}};
      block.reach.assign(reach.begin(), reach.end());
      block.beside.resize(rules.size());
      use(block);
    }
  });
  return left;
}

// Each sum term by term.
StageNotes RunWhole(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> rules, std::span<const int64_t> elements,
                    const std::function<void(const EvaluatedBlock&)>& use) {
  const BlockPlan plan(graph, output);
  const std::vector<std::span<const double>> spans(inputs.begin(), inputs.end());
  const Stage stage{&graph, &output, {&graph, output.node}, spans, {}};
  return RunStage(plan, stage, double_double, rules, plan.LanesOf(elements), use);
}

// An evaluation of so many elements, which blocks fill.
class Collected {
 public:
  Collected(size_t size, bool double_double, size_t propagations) : size_(size) {
    ResizeValues(static_cast<int64_t>(size), result_.value);
    if (double_double) result_.value_lo.resize(size);
    result_.reach.resize(propagations);
    for (std::vector<double>& reach : result_.reach) ResizeValues(static_cast<int64_t>(size), reach);
    result_.beside.resize(propagations);
  }

  // Calls store(from, to) for each of the block's arrays that is not zero.
  template <class Store>
  void Add(const EvaluatedBlock& block, const Store& store) {
    store(block.value, result_.value);
    if (!result_.value_lo.empty()) store(block.value_lo, result_.value_lo);
    for (size_t i = 0; i < result_.reach.size(); ++i) {
      if (!block.reach[i].empty()) store(block.reach[i], result_.reach[i]);
      if (!block.beside[i].empty()) store(block.beside[i], BesideOf(i));
    }
  }

  Evaluation Finish(std::vector<uint8_t> any_instead_of_nan) {
    result_.any_instead_of_nan = std::move(any_instead_of_nan);
    return std::move(result_);
  }

 private:
  std::vector<double>& BesideOf(size_t propagation) {
    const std::lock_guard lock(sizing_);
    result_.beside[propagation].resize(size_);
    return result_.beside[propagation];
  }

  size_t size_;
  Evaluation result_;
  std::mutex sizing_;
};

StageNotes RunSlices(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                     bool double_double, std::span<const ErrorRules> rules, int64_t most_held,
                     const std::function<void(const EvaluatedBlock&)>& use) {
  const std::optional<Slicing> slicing = double_double ? std::nullopt : FindSlicing(graph, output, most_held);
  if (slicing) {
    StageNotes notes(rules.size());
    Graph slice = graph;
    AxisInfo& axis = slice.axes[static_cast<size_t>(slicing->axis)];
    const int64_t extent = axis.extent, begin = axis.first;
    if (axis.whole == 0) axis.whole = extent;
    for (int64_t first = 0; first < extent; first += slicing->extent) {
      axis.first = begin + first, axis.extent = std::min(slicing->extent, extent - first);
      notes.Join(RunSlices(slice, output, inputs, double_double, rules, most_held, use));
    }
    return notes;
  }
  const StagedFormula staged(graph, output, inputs, double_double, rules, most_held);
  const BlockPlan plan(*staged.last().graph, output);
  std::vector<int64_t> left;
  if (const StoredNode* stored = staged.FindStoredOutput()) {
    left = GiveStored(*stored, rules, use);
    if (left.empty()) return staged.notes();
  }
  StageNotes notes = RunStage(plan, staged.last(), double_double, rules, plan.LanesOf(left), use);
  notes.Join(staged.notes());
  if (notes.lacks_terms != 0) notes = RunWhole(graph, output, inputs, double_double, rules, {}, use);
  return notes;
}

}  // namespace

std::vector<uint8_t> EvaluateBlocks(const Graph& graph, const OutputInfo& output,
                                    std::span<const std::vector<double>> inputs, bool double_double,
                                    std::span<const ErrorRules> rules,
                                    const std::function<void(const EvaluatedBlock&)>& use, int64_t most_held) {
  return RunSlices(graph, output, inputs, double_double, rules, most_held, use).any_instead_of_nan;
}

Evaluation Evaluate(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                    bool double_double, std::span<const ErrorRules> rules, int64_t most_held) {
  Collected all(static_cast<size_t>(graph.ExtentOf(OutputSet(output))), double_double, rules.size());
  const auto use = [&](const EvaluatedBlock& block) {
    all.Add(block, [&](std::span<const double> from, std::vector<double>& to) {
      const double* next = from.data();
      for (const int64_t offset : block.inner) {
        for (const int64_t lane : block.lanes) to[static_cast<size_t>(offset + lane)] = *next++;
      }
    });
  };
  return all.Finish(EvaluateBlocks(graph, output, inputs, double_double, rules, use, most_held));
}

Evaluation EvaluateElements(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                            bool double_double, std::span<const ErrorRules> rules, std::span<const int64_t> elements) {
  std::vector<std::pair<int64_t, size_t>> wanted;  // elements, and their places in the result
  for (size_t i = 0; i < elements.size(); ++i) wanted.emplace_back(elements[i], i);
  std::ranges::sort(wanted);
  Collected all(elements.size(), double_double, rules.size());
  const auto use = [&](const EvaluatedBlock& block) {
    all.Add(block, [&](std::span<const double> from, std::vector<double>& to) {
      const double* next = from.data();
      for (const int64_t offset : block.inner) {
        for (const int64_t lane : block.lanes) {
          const double number = *next++;
          auto at = std::ranges::lower_bound(wanted, std::pair(offset + lane, size_t{0}));
          for (; at != wanted.end() && at->first == offset + lane; ++at) to[at->second] = number;
        }
      }
    });
  };
  return all.Finish(RunWhole(graph, output, inputs, double_double, rules, elements, use).any_instead_of_nan);
}

}  // namespace assay::formula
