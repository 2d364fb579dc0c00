// SPDX-License-Identifier: Apache-2.0
// How a graph is evaluated in blocks. Axes along which some node reduces, runs or looks elsewhere are inner ones: a
// block has all of them. The other axes of the output are its lanes, some of which make a block. A node's array in a
// block is [its inner axes in ascending order, lanes], or [its inner axes] where it has none of the lanes' axes.
#pragma once

#include <span>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

std::vector<int> ListAxes(AxisSet set);  // in ascending order

// Lanes that make a block: `count` of them from `first` on, or those of a list.
struct LaneRange {
  int64_t first = 0, count = 1;
  std::span<const int64_t> list;  // empty: neighbours
};

// Axes in the order in which an array lies in memory.
struct ArrayLayout {
  ArrayLayout(const InputInfo& input) : axes(input.axes), holds_slice(input.holds_slice) {}      // NOLINT: its own
  ArrayLayout(const OutputInfo& output) : axes(output.axes), holds_slice(output.holds_slice) {}  // NOLINT: its own
  const std::vector<int>& axes;
  bool holds_slice = false;
};

class BlockPlan {
 public:
  // Precondition: every axis of `output` belongs to the node; axes that do not are reduced on the way to it.
  BlockPlan(const Graph& graph, const OutputInfo& output);

  const Graph& graph() const { return *graph_; }
  const OutputInfo& output() const { return *output_; }
  int64_t lanes() const { return lanes_; }        // of all blocks together
  int64_t block() const { return block_lanes_; }  // lanes of one block; the last one may have fewer

  AxisSet InnerOf(AxisSet axes) const { return axes & inner_; }
  bool HasLanes(AxisSet axes) const { return (axes & lane_set_) != 0; }
  int64_t Size(AxisSet axes, int64_t lanes) const {
    return graph_->ExtentOf(InnerOf(axes)) * (HasLanes(axes) ? lanes : 1);
  }

  // Elements of an input or output in memory: one offset per inner index, one per lane of the block.
  std::vector<int64_t> InnerOffsets(const ArrayLayout& layout) const;
  std::vector<int64_t> LaneOffsets(const ArrayLayout& layout, const LaneRange& lanes) const;
  // The lane of an element of the output, and those of some elements, ascending, each once.
  int64_t LaneOf(int64_t element) const;
  std::vector<int64_t> LanesOf(std::span<const int64_t> elements) const;

 private:
  int64_t WholeExtent(int axis, bool holds_slice) const;
  std::vector<int64_t> StridesOf(const ArrayLayout& layout) const;  // by axis, 0 where it has none

  const Graph* graph_;
  const OutputInfo* output_;
  AxisSet inner_ = 0, lane_set_ = 0;
  std::vector<int> lane_axes_;
  int64_t lanes_ = 1, block_lanes_ = 1;
};

// For each inner index of the axes `from`, in their order, the place among those of `to`, a subset of them.
std::vector<int64_t> Projection(const BlockPlan& plan, AxisSet from, AxisSet to);

// For each inner index of a kAt node's result the operand's inner index; -1: none.
std::vector<int64_t> Source(const BlockPlan& plan, const Node& node, AxisSet operand);

// For nodes whose places are data: the operand's inner index for each inner index of a kGather node's result, or the
// result's for each update of a kScatterAdd node. `index` is the array of the places. -1: no such place.
std::vector<int64_t> Places(const BlockPlan& plan, const Node& node, std::span<const double> index);

// An operand's array in the space of a result that has more axes.
class Expansion {
 public:
  Expansion(const BlockPlan& plan, AxisSet operand, AxisSet result);
  bool trivial() const { return trivial_; }
  void Run(const double* from, int64_t lanes, double* to) const;
  // The array itself where it has the result's axes, else `to`, which gets `size` numbers, the result's.
  const double* Of(std::span<const double> from, int64_t lanes, size_t size, std::vector<double>& to) const;

 private:
  bool trivial_ = false;
  bool from_lanes_ = false, to_lanes_ = false;
  std::vector<int64_t> place_;  // of each inner index of the result
};

}  // namespace assay::formula
