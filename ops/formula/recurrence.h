// SPDX-License-Identifier: Apache-2.0
// The lines along which a kRecur node runs.
#pragma once

#include "ops/formula/block.h"

namespace assay::formula {

// Calls line(first element, elements from one step to the next, steps) for every line of the node's array.
template <class Line>
void ForRecurrences(const BlockPlan& plan, const Node& node, int64_t lanes, const Line& line) {
  const AxisSet inner = plan.InnerOf(node.axes), before = SetOf(node.axis) - 1;
  const int64_t outer = plan.graph().ExtentOf(inner & before), steps = plan.graph().Extent(node.axis);
  const int64_t behind = plan.graph().ExtentOf(inner & ~before & ~SetOf(node.axis));
  const int64_t stride = behind * (plan.HasLanes(node.axes) ? lanes : 1);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < stride; ++j) line(i * steps * stride + j, stride, steps);
  }
}

}  // namespace assay::formula
