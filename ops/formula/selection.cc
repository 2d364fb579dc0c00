// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::formula {
namespace {

// Elements from one index of an axis to the next, in the array of these inner axes.
int64_t StrideOf(const BlockPlan& plan, AxisSet inner, int axis, int64_t width) {
  const AxisSet up_to = (SetOf(axis) << 1) - 1;
  return plan.graph().ExtentOf(inner & ~up_to) * width;
}

// Where a line begins in the array of `inner`, from its number among the axes that operand and result share.
int64_t OffsetOf(const BlockPlan& plan, AxisSet shared, AxisSet inner, int64_t number, int64_t width) {
  int64_t offset = 0;
  for (; shared != 0; shared &= shared - 1) {
    const int axis = std::countr_zero(shared);
    offset += number % plan.graph().Extent(axis) * StrideOf(plan, inner, axis, width);
    number /= plan.graph().Extent(axis);
  }
  return offset;
}

bool HaveSameParts(const DD& a, const DD& b) {
  return AreAlike(a.hi, b.hi) && (a.lo == b.lo || std::isnan(a.hi));
}

bool IsLarger(const DD& a, const DD& b) {
  if (std::isnan(a.hi) || std::isnan(b.hi)) return std::isnan(a.hi) && !std::isnan(b.hi);
  return a.hi > b.hi || (a.hi == b.hi && a.lo > b.lo);
}

}  // namespace

void ForSelections(const BlockPlan& plan, int node, int64_t lanes,
                   const std::function<void(const SelectionLine&)>& visit) {
  const Node& info = plan.graph().At(node);
  const int64_t width = plan.HasLanes(info.axes) ? lanes : 1;
  const AxisSet from = plan.InnerOf(plan.graph().At(info.args[0]).axes), to = plan.InnerOf(info.axes);
  const AxisSet shared = from & to;
  SelectionLine line{.from_stride = StrideOf(plan, from, info.from_axis, width),
                     .size = plan.graph().Extent(info.from_axis),
                     .to_stride = StrideOf(plan, to, info.axis, width),
                     .ranks = plan.graph().Extent(info.axis)};
  for (int64_t number = 0; number < plan.graph().ExtentOf(shared); ++number) {
    const int64_t from_offset = OffsetOf(plan, shared, from, number, width);
    const int64_t to_offset = OffsetOf(plan, shared, to, number, width);
    for (int64_t lane = 0; lane < width; ++lane) {
      line.from = from_offset + lane;
      line.to = to_offset + lane;
      visit(line);
    }
  }
}

std::vector<int64_t> Rank(const Node& node, const NumbersOfLine& numbers, int64_t ranks) {
  std::vector<int64_t> places(static_cast<size_t>(numbers.line.size));
  std::iota(places.begin(), places.end(), int64_t{0});
  std::partial_sort(places.begin(), places.begin() + ranks, places.end(), [&](int64_t a, int64_t b) {
    const DD x = numbers.At(a), y = numbers.At(b);
    if (node.smallest ? IsLarger(y, x) : IsLarger(x, y)) return true;
    return HaveSameParts(x, y) && a < b;
  });
  places.resize(static_cast<size_t>(ranks));
  return places;
}

std::vector<int64_t> RankWithout(const Node& node, const NumbersOfLine& numbers, int64_t rank) {
  const int64_t ranks = numbers.line.ranks;
  std::vector<int64_t> right = Rank(node, numbers, std::min(ranks + 1, numbers.line.size)), wrong = right;
  if (std::ssize(right) > ranks) {
    wrong.erase(wrong.begin() + rank);
    right.pop_back();
  } else if (rank + 1 < ranks) {
    std::swap(wrong[static_cast<size_t>(rank)], wrong[static_cast<size_t>(rank) + 1]);
  }
  const auto stays = [&](int64_t a, int64_t b) { return HaveSameParts(numbers.At(a), numbers.At(b)); };
  return node.any_tie && std::ranges::equal(right, wrong, stays) ? right : wrong;
}

}  // namespace assay::formula
