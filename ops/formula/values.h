// SPDX-License-Identifier: Apache-2.0
// The values of a block's nodes.
#pragma once

#include <span>
#include <vector>

#include "ops/formula/block.h"
#include "ops/formula/functions.h"

namespace assay::formula {

// Layouts of operands in the space of each node, shared by all blocks of an evaluation.
struct NodeSpaces {
  explicit NodeSpaces(const BlockPlan& plan);
  std::vector<std::vector<Expansion>> expansions;  // by node, operand
  std::vector<std::vector<int64_t>> places;        // reductions: Projection; kAt: Source; kIn: inner offsets
};

// One term that a kernel forgets: of every result of a reduction, one step of a recurrence, one rank of a selection,
// one number that is added somewhere; or one place of a kGather node, which is the next one.
struct Fault {
  int node = -1;
  int64_t term = 0;
};

// The elements of each input in its layout; behind all of them may stand the low parts of each.
using InputElements = std::span<const std::span<const double>>;

// The formula that an evaluated graph is a part of: nodes have the same numbers in both.
struct WholeFormula {
  const Graph* graph = nullptr;
  int output = -1;  // node
};

class BlockValues {
 public:
  BlockValues(const BlockPlan& plan, const NodeSpaces& spaces, bool double_double);

  // A list of lanes stays until the block is computed.
  void Begin(const LaneRange& lanes, Fault fault = {}) { range_ = lanes, lanes_ = lanes.count, fault_ = fault; }
  // Operands come before.
  void Compute(int node, InputElements inputs) {
    Evaluate(node, inputs);
    if (!plan_->graph().limits.empty()) OpenUndefined(node);
  }

  std::span<const double> Hi(int node) const { return hi_[static_cast<size_t>(node)]; }
  std::span<double> MutableHi(int node) { return hi_[static_cast<size_t>(node)]; }
  std::span<const double> Lo(int node) const { return lo_[static_cast<size_t>(node)]; }
  // Places of the kGather or kScatterAdd node that was computed last.
  std::span<const int64_t> places() const { return places_; }
  // Place in its input's layout of each number of a kIn node.
  std::vector<int64_t> OffsetsOf(int node) const;
  // Operands of the map that was computed last.
  const Operands& operands() const { return operands_; }

 private:
  void Evaluate(int node, InputElements inputs);
  void Input(int node, InputElements inputs);
  std::vector<int64_t> LaneOffsetsOf(int node) const;
  void Map(int node);
  // Computes a product modulo 2^64 (Graph::wraps).
  void WrapProduct(int node, const Operands& lo);
  void Reduce(int node);
  void Recur(int node);
  void Move(int node);
  void Select(int node);
  void Gather(int node);
  void ScatterAdd(int node);
  void FindPlaces(int node);
  // Makes what registers of integers do not hold NaN, and what depends on that (Graph::limits).
  void OpenUndefined(int node);
  bool IsOpened(int node, size_t i) const;
  Operands ExpandOperands(int node);

  const BlockPlan* plan_;
  const NodeSpaces* spaces_;
  bool dd_;
  LaneRange range_;
  int64_t lanes_ = 1;
  Fault fault_;
  std::vector<std::vector<double>> hi_, lo_;
  Operands operands_{};
  std::vector<std::vector<int64_t>> known_places_;  // by node, of no fault: the same in all blocks
  std::vector<int64_t> places_;
  std::vector<double> scratch_[6];  // operands in a node's space
};

}  // namespace assay::formula
