// SPDX-License-Identifier: Apache-2.0
// One thread's work on a graph's blocks: the values of all nodes, and propagations beside them. A graph may be a stage
// of a formula, which reads nodes of earlier stages as inputs behind its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/formula/arrangements.h"
#include "ops/formula/error.h"
#include "ops/formula/products.h"
#include "ops/formula/values.h"

namespace assay::formula {

// A node of an earlier stage, for all lanes. Its arrays lie as the input does that stands for it.
struct StoredNode {
  std::vector<double> value;
  std::vector<NodeError> errors;  // of each propagation; `reach` stays empty
  std::vector<double> most;       // of each: Arrangements::BoundSizes
};

struct Stage {
  const Graph* graph = nullptr;
  const OutputInfo* output = nullptr;
  WholeFormula whole;
  InputElements inputs;                // of the formula and of stored nodes
  std::span<const StoredNode> stored;  // inputs behind those of the formula
  int stored_later = -1;               // see Propagation
};

// How propagations went that say something of all elements together.
struct StageNotes {
  explicit StageNotes(size_t propagations) : any_instead_of_nan(propagations) {}
  void Join(const StageNotes& other);
  std::vector<uint8_t> any_instead_of_nan;  // by propagation: Propagation::any_instead_of_nan
  uint8_t lacks_terms = 0;                  // Arrangements::lacks_terms
};

class BlockWorker {
 public:
  // All must outlive it.
  BlockWorker(const BlockPlan& plan, const NodeSpaces& spaces, const Stage& stage, bool double_double,
              std::span<const ErrorRules> rules);

  void Run(const LaneRange& lanes);

  const BlockValues& values() const { return values_; }
  const std::vector<Propagation>& propagations() const { return propagations_; }
  // Arrangements::BoundSizes of a node under a contract's rules; infinite under others.
  double BoundSize(size_t propagation, int node) const;
  void Note(StageNotes& notes) const;  // from any thread

 private:
  void Propagate(int index, size_t propagation);
  const NodeError* StoredErrorOf(const Node& node, size_t propagation) const;

  const BlockPlan& plan_;
  const NodeSpaces& spaces_;
  const Stage& stage_;
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

// Calls use(worker, lanes) for each block, from several threads at once: of all lanes, or of those of a list.
StageNotes RunBlocks(const BlockPlan& plan, const Stage& stage, bool double_double, std::span<const ErrorRules> rules,
                     std::span<const int64_t> list,
                     const std::function<void(const BlockWorker&, const LaneRange&)>& use);

}  // namespace assay::formula
