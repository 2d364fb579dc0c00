// SPDX-License-Identifier: Apache-2.0
// All combinations of levels of every pair, or every three, of some dimensions, numbered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/case_space.h"

namespace assay {

// The level of every dimension, in their order; -1 where a dimension has none.
using Levels = std::vector<int>;

struct DimensionLevel {
  int dimension = 0, level = 0;
  auto operator<=>(const DimensionLevel&) const = default;
};
using Tuple = std::vector<DimensionLevel>;  // by dimension

class TupleSet {
 public:
  // All tuples of the dimensions with these indices, `strength` (2 or 3) at a time.
  TupleSet(const CaseSpace& space, std::vector<int> dimensions, int strength);

  int64_t size() const { return size_; }
  Tuple At(int64_t index) const;

  // Calls visit(index) for every tuple that these levels have; `changed`: only those with that dimension.
  template <class Visit>
  void Each(const Levels& levels, const Visit& visit) const {
    for (const Group& group : groups_) {
      int64_t index = 0;
      if (IndexIn(group, levels, index)) visit(group.first + index);
    }
  }
  template <class Visit>
  void VisitEachWith(int dimension, const Levels& levels, const Visit& visit) const {
    for (const int g : groups_with_[static_cast<size_t>(dimension)]) {
      int64_t index = 0;
      if (IndexIn(groups_[static_cast<size_t>(g)], levels, index)) visit(groups_[static_cast<size_t>(g)].first + index);
    }
  }

 private:
  // Dimensions that are combined: their tuples have consecutive numbers, the last level varying fastest.
  struct Group {
    int64_t first = 0;
    int count = 0;
    int dimension[3] = {}, extent[3] = {};
  };
  static bool IndexIn(const Group& group, const Levels& levels, int64_t& index) {
    for (int i = 0; i < group.count; ++i) {
      const int level = levels[static_cast<size_t>(group.dimension[i])];
      if (level < 0) return false;
      index = index * group.extent[i] + level;
    }
    return true;
  }
  void AddGroup(const CaseSpace& space, std::span<const int> dimensions);

  std::vector<Group> groups_;
  std::vector<std::vector<int>> groups_with_;  // by dimension
  int64_t size_ = 0;
};

}  // namespace assay
