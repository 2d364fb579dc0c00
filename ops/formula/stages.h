// SPDX-License-Identifier: Apache-2.0
// A formula in stages: its contractions are computed as matrix products, operands first, and what follows reads them
// as inputs. Each stage is a graph with the formula's nodes, of which constants stand for those that it does not need.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "ops/formula/contractions.h"

namespace assay::formula {

class StagedFormula {
 public:
  // All must outlive it. In double-double each sum is added up term by term, so that its bits are those of former
  // versions.
  StagedFormula(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                bool double_double, std::span<const ErrorRules> rules, int64_t most_held);

  // The graph that is left, from what was stored to the output.
  const Stage& last() const { return last_; }
  size_t stored() const { return stored_.size(); }  // matrix products
  // The output, if a stored sum is all that is left of it and lies as it does; else null.
  const StoredNode* FindStoredOutput() const;
  const StageNotes& notes() const { return notes_; }

 private:
  void Store(const MatrixProduct& contraction);
  Stage StageOf(const Graph& graph, const OutputInfo& output) const;
  // nullopt: the node is no input that lies so and is exact.
  std::optional<WholeFactor> ReadFactor(int node, const std::vector<int>& layout) const;
  WholeFactor EvaluateFactor(int node, const std::vector<int>& layout, const std::vector<ProductFactor>& parts);
  void EvaluateSpecial(const MatrixProduct& contraction, Contracted& contracted);
  void Replace(const MatrixProduct& contraction, StoredNode sums);

  WholeFormula whole_;
  OutputInfo output_;
  std::span<const ErrorRules> rules_;
  bool double_double_;
  Graph graph_;  // with what is stored; empty where nothing is
  std::vector<std::span<const double>> inputs_;
  std::vector<StoredNode> stored_;
  StageNotes notes_;
  Stage last_;
};

}  // namespace assay::formula
