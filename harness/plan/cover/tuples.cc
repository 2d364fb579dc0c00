// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/tuples.h"

#include <algorithm>

#include "harness/core/base/check.h"

namespace assay {

TupleSet::TupleSet(const CaseSpace& space, std::vector<int> dimensions, int strength)
    : groups_with_(space.dimensions.size()) {
  ASSAY_CHECK(strength == 2 || strength == 3);
  for (size_t a = 0; a < dimensions.size(); ++a) {
    for (size_t b = a + 1; b < dimensions.size(); ++b) {
      if (strength == 2) AddGroup(space, std::vector{dimensions[a], dimensions[b]});
      for (size_t c = b + 1; strength == 3 && c < dimensions.size(); ++c) {
        AddGroup(space, std::vector{dimensions[a], dimensions[b], dimensions[c]});
      }
    }
  }
}

void TupleSet::AddGroup(const CaseSpace& space, std::span<const int> dimensions) {
  Group group{.first = size_, .count = static_cast<int>(dimensions.size())};
  int64_t count = 1;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const auto dimension = static_cast<size_t>(dimensions[i]);
    group.dimension[i] = dimensions[i];
    group.extent[i] = static_cast<int>(space.dimensions[dimension].levels.size());
    count *= group.extent[i];
    groups_with_[dimension].push_back(static_cast<int>(groups_.size()));
  }
  groups_.push_back(group);
  size_ += count;
}

Tuple TupleSet::At(int64_t index) const {
  ASSAY_CHECK(index >= 0 && index < size_);
  const auto after = std::ranges::upper_bound(groups_, index, {}, &Group::first);
  const Group& group = *(after - 1);
  Tuple tuple(static_cast<size_t>(group.count));
  index -= group.first;
  for (int i = group.count; i-- > 0;) {
    tuple[static_cast<size_t>(i)] = {group.dimension[i], static_cast<int>(index % group.extent[i])};
    index /= group.extent[i];
  }
  return tuple;
}

}  // namespace assay
