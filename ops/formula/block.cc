// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/block.h"

#include <algorithm>

#include "harness/core/base/check.h"

namespace assay::formula {
namespace {

constexpr int64_t kBlockElements = 8192;  // of a node with all axes: arrays of a few nodes stay in a second-level cache
constexpr int64_t kMostLanes = 1024;

// Calls visit(index) for all index tuples of these axes, the last one fastest; index has one entry per axis of the
// graph.
template <class Visit>
void ForEachIndex(const Graph& graph, const std::vector<int>& axes, const Visit& visit) {
  std::vector<int64_t> index(graph.axes.size());
  while (true) {
    visit(index);
    size_t i = axes.size();
    while (i > 0 && ++index[static_cast<size_t>(axes[i - 1])] == graph.Extent(axes[i - 1])) {
      index[static_cast<size_t>(axes[--i])] = 0;
    }
    if (i == 0) return;
  }
}

// Place in the row-major array of these axes.
int64_t PlaceOf(const Graph& graph, const std::vector<int>& axes, const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (const int axis : axes) place = place * graph.Extent(axis) + index[static_cast<size_t>(axis)];
  return place;
}

}  // namespace

std::vector<int> ListAxes(AxisSet set) {
  std::vector<int> axes;
  for (; set != 0; set &= set - 1) axes.push_back(std::countr_zero(set));
  return axes;
}

BlockPlan::BlockPlan(const Graph& graph, const OutputInfo& output) : graph_(&graph), output_(&output) {
  for (const Node& node : graph.nodes) {
    inner_ |= node.reduced;
    if (node.axis >= 0) inner_ |= SetOf(node.axis);
    if (node.from_axis >= 0) inner_ |= SetOf(node.from_axis);
  }
  AxisSet layout = 0, all = 0;
  layout |= SetOf(output.axes);
  for (const Node& node : graph.nodes) all |= node.axes;
  ASSAY_CHECK((graph.At(output.node).axes & ~layout) == 0);
  // An axis that nothing reduces and that this output lacks belongs to other outputs.
  lane_set_ = layout & ~inner_;
  lane_axes_ = ListAxes(lane_set_);
  lanes_ = graph.ExtentOf(lane_set_);
  const int64_t inner = std::max<int64_t>(graph.ExtentOf(all & inner_), 1);
  block_lanes_ = std::max<int64_t>(std::min({kBlockElements / inner, kMostLanes, lanes_}), 1);
}

int64_t BlockPlan::WholeExtent(int axis, bool holds_slice) const {
  const AxisInfo& info = graph_->axes[static_cast<size_t>(axis)];
  return info.whole == 0 || holds_slice ? info.extent : info.whole;
}

std::vector<int64_t> BlockPlan::StridesOf(const ArrayLayout& layout) const {
  std::vector<int64_t> strides(graph_->axes.size());
  int64_t stride = 1;
  for (size_t i = layout.axes.size(); i-- > 0; stride *= WholeExtent(layout.axes[i], layout.holds_slice)) {
    strides[static_cast<size_t>(layout.axes[i])] = stride;
  }
  return strides;
}

std::vector<int64_t> BlockPlan::InnerOffsets(const ArrayLayout& layout) const {
  AxisSet set = 0;
  for (const int axis : layout.axes) set |= SetOf(axis);
  const std::vector<int64_t> strides = StridesOf(layout);
  std::vector<int64_t> offsets;
  ForEachIndex(*graph_, ListAxes(InnerOf(set)), [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides[axis];
    offsets.push_back(offset);
  });
  return offsets;
}

std::vector<int64_t> BlockPlan::LaneOffsets(const ArrayLayout& layout, const LaneRange& lanes) const {
  if (!lanes.list.empty()) {
    std::vector<int64_t> offsets;
    for (const int64_t lane : lanes.list) offsets.push_back(LaneOffsets(layout, {lane})[0]);
    return offsets;
  }
  int64_t first = lanes.first;
  struct Place {
    int64_t extent, stride, at;
  };
  const std::vector<int64_t> strides = StridesOf(layout);
  std::vector<Place> places;
  int64_t offset = 0;
  for (const int axis : layout.axes) {  // sliced axes are lanes
    const int64_t begin = layout.holds_slice ? 0 : graph_->axes[static_cast<size_t>(axis)].first;
    offset += begin * strides[static_cast<size_t>(axis)];
  }
  for (size_t i = lane_axes_.size(); i-- > 0;) {  // the fastest first
    const int64_t extent = graph_->Extent(lane_axes_[i]), stride = strides[static_cast<size_t>(lane_axes_[i])];
    places.push_back({extent, stride, first % extent});
    offset += first % extent * stride;
    first /= extent;
  }
  std::vector<int64_t> offsets(static_cast<size_t>(lanes.count));
  for (int64_t& of_lane : offsets) {  // counted on: a division takes longer than all else here
    of_lane = offset;
    for (Place& place : places) {
      offset += place.stride;
      if (++place.at < place.extent) break;
      offset -= place.extent * place.stride;
      place.at = 0;
    }
  }
  return offsets;
}

int64_t BlockPlan::LaneOf(int64_t element) const {
  std::vector<int64_t> index(graph_->axes.size());
  for (size_t i = output_->axes.size(); i-- > 0;) {
    const int axis = output_->axes[i];
    const int64_t extent = WholeExtent(axis, output_->holds_slice);
    const int64_t begin = output_->holds_slice ? 0 : graph_->axes[static_cast<size_t>(axis)].first;
    index[static_cast<size_t>(axis)] = element % extent - begin;
    element /= extent;
  }
  return PlaceOf(*graph_, lane_axes_, index);
}

std::vector<int64_t> BlockPlan::LanesOf(std::span<const int64_t> elements) const {
  std::vector<int64_t> lanes;
  for (const int64_t element : elements) lanes.push_back(LaneOf(element));
  std::ranges::sort(lanes);
  lanes.erase(std::ranges::unique(lanes).begin(), lanes.end());
  return lanes;
}

std::vector<int64_t> Projection(const BlockPlan& plan, AxisSet from, AxisSet to) {
  const std::vector<int> kept = ListAxes(plan.InnerOf(to));
  std::vector<int64_t> places;
  ForEachIndex(plan.graph(), ListAxes(plan.InnerOf(from)),
               [&](const std::vector<int64_t>& index) { places.push_back(PlaceOf(plan.graph(), kept, index)); });
  return places;
}

std::vector<int64_t> Source(const BlockPlan& plan, const Node& node, AxisSet operand) {
  const std::vector<int> axes = ListAxes(plan.InnerOf(operand));
  std::vector<int> to = {node.axis}, from = {node.from_axis};
  to.insert(to.end(), node.more_axes.begin(), node.more_axes.end());
  from.insert(from.end(), node.more_from.begin(), node.more_from.end());
  std::vector<int64_t> places;
  ForEachIndex(plan.graph(), ListAxes(plan.InnerOf(node.axes)), [&](std::vector<int64_t> index) {
    const int64_t at = node.index[static_cast<size_t>(PlaceOf(plan.graph(), to, index))];
    int64_t rest = std::max<int64_t>(at, 0);
    for (size_t k = from.size(); k-- > 0; rest /= plan.graph().Extent(from[k])) {
      index[static_cast<size_t>(from[k])] = rest % plan.graph().Extent(from[k]);
    }
    places.push_back(at < 0 ? -1 : PlaceOf(plan.graph(), axes, index));
  });
  return places;
}

std::vector<int64_t> Places(const BlockPlan& plan, const Node& node, std::span<const double> index) {
  const Graph& graph = plan.graph();
  const bool gathers = node.kind == Kind::kGather;
  const AxisSet updates = graph.At(node.args[1]).axes;
  const std::vector<int> walked = ListAxes(plan.InnerOf(gathers ? node.axes : updates));
  const std::vector<int> target = ListAxes(plan.InnerOf(gathers ? graph.At(node.args[0]).axes : node.axes));
  const std::vector<int> of_index = ListAxes(node.reduced);
  const int along = gathers ? node.from_axis : node.axis;
  std::vector<int64_t> places;
  ForEachIndex(graph, walked, [&](std::vector<int64_t> at) {
    const double place = index[static_cast<size_t>(PlaceOf(graph, of_index, at))];
    const bool exists = place >= 0 && place < static_cast<double>(graph.Extent(along));
    at[static_cast<size_t>(along)] = exists ? static_cast<int64_t>(place) : 0;
    places.push_back(exists ? PlaceOf(graph, target, at) : -1);
  });
  return places;
}

Expansion::Expansion(const BlockPlan& plan, AxisSet operand, AxisSet result)
    : trivial_(plan.InnerOf(operand) == plan.InnerOf(result) && plan.HasLanes(operand) == plan.HasLanes(result)),
      from_lanes_(plan.HasLanes(operand)),
      to_lanes_(plan.HasLanes(result)) {
  if (!trivial_) place_ = Projection(plan, result, operand);
}

void Expansion::Run(const double* from, int64_t lanes, double* to) const {
  const int64_t width = to_lanes_ ? lanes : 1;
  if (width == 1) {
    for (size_t i = 0; i < place_.size(); ++i) to[i] = from[place_[i]];
    return;
  }
  for (size_t i = 0; i < place_.size(); ++i) {
    double* row = to + static_cast<int64_t>(i) * width;
    if (from_lanes_) {
      std::copy_n(from + place_[i] * width, width, row);
    } else {
      std::fill_n(row, width, from[place_[i]]);
    }
  }
}

const double* Expansion::Of(std::span<const double> from, int64_t lanes, size_t size, std::vector<double>& to) const {
  if (trivial_) return from.data();
  if (to.size() < size) to.resize(size);  // never smaller: what it then grows by would be cleared, only to be written
  Run(from.data(), lanes, to.data());
  return to.data();
}

}  // namespace assay::formula
