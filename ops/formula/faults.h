// SPDX-License-Identifier: Apache-2.0
// Single lanes of a graph, as a kernel would compute them that forgets a term.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/core/data/dtype.h"
#include "ops/formula/values.h"

namespace assay::formula {

// Numbers that a kernel keeps in fewer bits than it should.
struct Narrowing {
  enum class What : uint8_t {
    kResult,      // of the node
    kRunningSum,  // after each `every` terms of a kSum, in row-major order, and after the last
    kBlockTerms,  // after each term of the sums of `every` terms each, which are then added wide
    kBlocks,      // likewise, but after the last term of each
    kOnce,        // the running sum of a kSum after `every` terms alone, as where it is handed on
    kReciprocal,  // of a divisor, by which the dividend is multiplied
  };
  What what = What::kResult;
  int node = 0;
  int user = -1;  // kResult: the one node that reads it so; -1: all do
  int bits = 8;
  std::optional<DType> format;  // with its exponents, too; else they reach as far as they need
  int64_t every = 1;
  bool of_operands = false;  // all operands are rounded likewise before
  bool cut = false;          // bits are cut off, not rounded to nearest
};

class LaneEvaluator {
 public:
  // All must outlive it.
  LaneEvaluator(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs);

  int64_t LaneOf(int64_t element) const { return plan_.LaneOf(element); }
  std::vector<int64_t> Elements(int64_t lane) const;  // of the output, in the order of Run's values
  std::span<const double> Run(int64_t lane, Fault fault);
  std::span<const double> RunNarrowed(int64_t lane, const Narrowing& narrowing);
  int64_t lanes() const { return plan_.lanes(); }
  size_t nodes() const { return plan_.graph().nodes.size(); }
  // Numbers that are computed for one lane, where terms of reductions count as numbers; lanes share none.
  double CountValues() const;

 private:
  void Narrow(const Narrowing& narrowing);
  void AddNarrowly(const Narrowing& narrowing);

  BlockPlan plan_;
  NodeSpaces spaces_;
  BlockValues values_;
  std::vector<std::span<const double>> inputs_;
  std::vector<int64_t> inner_;
};

// Reductions and recurrences with their terms: where something can be forgotten. Those that another output shows more
// plainly are left to it: the mean of a row in its deviation, where the mean is an output too.
struct FaultyNode {
  int node = 0;
  int64_t terms = 1;
};
std::vector<FaultyNode> FaultyNodes(const Graph& graph);

// Whether what is forgotten there changes results by no rounding, so that data of any kind show it: what is selected,
// or the largest number.
bool ShowsOnAnyData(const Node& node);

}  // namespace assay::formula
