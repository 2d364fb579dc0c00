// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/block_worker.h"

#include <algorithm>
#include <atomic>

#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"

namespace assay::formula {

void StageNotes::Join(const StageNotes& other) {
  for (size_t i = 0; i < any_instead_of_nan.size(); ++i) any_instead_of_nan[i] |= other.any_instead_of_nan[i];
  lacks_terms |= other.lacks_terms;
}

BlockWorker::BlockWorker(const BlockPlan& plan, const NodeSpaces& spaces, const Stage& stage, bool double_double,
                         std::span<const ErrorRules> rules)
    : plan_(plan), spaces_(spaces), stage_(stage), values_(plan, spaces, double_double) {
  for (const ErrorRules& one : rules) {
    propagations_.emplace_back(plan, one, stage.whole, stage.stored_later);
    if (!one.rearranges) continue;
    const size_t number = propagations_.size() - 1;
    std::vector<double> most(plan.graph().nodes.size());
    for (size_t at = 0; at < most.size(); ++at) {
      const size_t input = static_cast<size_t>(std::max(plan.graph().nodes[at].input, 0));
      const size_t own = stage.whole.graph->inputs.size();
      if (input >= own) most[at] = stage.stored[input - own].most[number];
    }
    rearranged_.push_back(
        {number, Products(plan, one, stage.whole), Arrangements(plan, spaces, one, stage.whole, std::move(most))});
  }
}

void BlockWorker::Run(const LaneRange& lanes) {
  values_.Begin(lanes);
  for (Propagation& propagation : propagations_) propagation.Begin(lanes.count);
  for (int node = 0; node < static_cast<int>(plan_.graph().nodes.size()); ++node) {
    values_.Compute(node, stage_.inputs);
    for (size_t i = 0; i < propagations_.size(); ++i) Propagate(node, i);
    for (const Rearranged& other : rearranged_) {
      Propagation& propagation = propagations_[other.propagation];
      const Products::Costs costs = other.products.CostsOf(node, values_, propagation, lanes.count);
      propagation.Widen(node, costs.further);
      propagation.Admit(node, values_.Hi(node), costs.beside);
    }
  }
  for (Rearranged& other : rearranged_) {
    Propagation& propagation = propagations_[other.propagation];
    const int output = plan_.output().node;
    propagation.Open(output, values_.Hi(output), other.sums.Open(values_, propagation, lanes.count));
  }
}

double BlockWorker::BoundSize(size_t propagation, int node) const {
  for (const Rearranged& other : rearranged_) {
    if (other.propagation != propagation) continue;
    return other.sums.BoundSizes(values_, propagations_[propagation])[static_cast<size_t>(node)];
  }
  return kInfinity;
}

void BlockWorker::Note(StageNotes& notes) const {
  for (size_t i = 0; i < propagations_.size(); ++i) {
    if (propagations_[i].any_instead_of_nan()) std::atomic_ref(notes.any_instead_of_nan[i]).store(1);
  }
  for (const Rearranged& other : rearranged_) {
    if (other.sums.lacks_terms()) std::atomic_ref(notes.lacks_terms).store(1);
  }
}

const NodeError* BlockWorker::StoredErrorOf(const Node& node, size_t propagation) const {
  const size_t own = stage_.whole.graph->inputs.size(), input = static_cast<size_t>(node.input);
  return input < own ? nullptr : &stage_.stored[input - own].errors[propagation];
}

void BlockWorker::Propagate(int index, size_t propagation) {
  Propagation& to = propagations_[propagation];
  const Node& node = plan_.graph().At(index);
  const std::span<const double> v = values_.Hi(index);
  switch (node.kind) {
    case Kind::kIn: {
      const NodeError* found = StoredErrorOf(node, propagation);
      return found != nullptr ? to.Restore(index, *found, values_.OffsetsOf(index)) : to.Input(index, v);
    }
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

StageNotes RunBlocks(const BlockPlan& plan, const Stage& stage, bool double_double, std::span<const ErrorRules> rules,
                     std::span<const int64_t> list,
                     const std::function<void(const BlockWorker&, const LaneRange&)>& use) {
  RequireFloatEnvironment("golden formula");
  const NodeSpaces spaces(plan);
  StageNotes notes(rules.size());
  const int64_t all = list.empty() ? plan.lanes() : std::ssize(list);
  const int64_t blocks = (all + plan.block() - 1) / plan.block();
  ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    BlockWorker worker(plan, spaces, stage, double_double, rules);
    for (int64_t number = begin; number < end; ++number) {
      const int64_t first = number * plan.block(), count = std::min(plan.block(), all - first);
      LaneRange lanes{first, count, {}};
      if (!list.empty()) lanes.list = list.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      worker.Run(lanes);
      use(worker, lanes);
    }
    worker.Note(notes);
  });
  return notes;
}

}  // namespace assay::formula
