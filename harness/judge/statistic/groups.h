// SPDX-License-Identifier: Apache-2.0
// Groups of the statistic (harness/judge/README.md#statistic-by-groups): sums of squared deviations over rows (the last
// axis), columns, 64 x 64 tiles, slabs (the last two axes: a head, a batch, a channel) and the whole tensor, gathered
// in the judging pass. The tensor is cut into stripes that depend on its shape alone; a stripe adds its elements in
// order and stripes are joined in order, so the sums have the same bits for every thread count and vector width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay {

enum class GroupKind : uint8_t { kRow, kColumn, kTile, kSlab, kTensor };
std::string_view Name(GroupKind kind);

// delta: how often a kind of group may fire on one tensor of independent rounding errors.
inline constexpr double kGroupDelta = 1e-6;
inline constexpr double kModelSlack = 1.25;  // of the model of sigma

// The largest root mean square that a group of m elements out of `groups` may have; at most one element's errors count
// as independent when `shared`. Laurent and Massart (2000), lemma 1: the tail of chi square.
double GroupLimit(double m, double groups, bool shared);

struct GroupFinding {
  double margin = 0;  // root mean square over its limit; above 1 fails
  double rms = 0;
  GroupKind kind = GroupKind::kTensor;
  int64_t index = 0;  // of the row, column or slab; of a tile's first value
  int64_t members = 0;
};

// Rows of data of their own share the constants of their operator (the twiddles of a transform), whose errors do not
// average out: a column of more rows than this counts as many independent ones.
inline constexpr int64_t kMostIndependentRows = 16;

// The sizes that follow from a shape and the number of values per element.
struct GroupLayout {
  GroupLayout(const Shape& shape, int parts);
  int64_t values = 0, columns = 1, rows = 1, slab_rows = 1;  // a row has `columns` values
  bool by_row = false, by_column = false, by_tile = false, by_slab = false;
  int64_t stripe = 0;  // values per stripe, a multiple of the judging chunk
  int64_t Stripes() const { return stripe == 0 ? 0 : (values + stripe - 1) / stripe; }
  int64_t Tiles() const;
};
inline constexpr int64_t kGroupTile = 64;
inline constexpr int64_t kLeastMembers = 16;  // smaller groups say no more than their elements
inline int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

class GroupStripe {
 public:
  GroupStripe(const GroupLayout& layout, int64_t first, bool shared);
  void Add(const float* squares, int64_t n);  // the next n values
  void Finish();

 private:
  friend class GroupSums;
  void EndRow();
  void EndBlock();

  const GroupLayout* layout_;
  bool shared_;
  int64_t first_row_, row_, column_;
  double row_sum_ = 0;
  int64_t block_values_ = 0, block_rows_ = 0, block_first_row_;
  std::vector<float> block_;      // per column, of up to 64 rows
  std::vector<double> totals_;    // per column
  std::vector<double> row_sums_;  // per row that the stripe has a part of
  GroupFinding tile_;             // the worst
};

// Joins the stripes. Empty when the tensor is.
class GroupSums {
 public:
  // `shared`: the errors of a row are not independent; `independent_rows`: those of a column are, up to
  // kMostIndependentRows of them.
  GroupSums(const GroupLayout& layout, bool shared, bool independent_rows = false);
  GroupSums(const GroupSums&) = delete;  // stripes point to layout_
  GroupStripe& stripe(int64_t k) { return stripes_[static_cast<size_t>(k)]; }
  // The group with the largest margin. Call once, when all stripes are full.
  GroupFinding Worst();

 private:
  void Test(GroupKind kind, const std::vector<double>& sums, int64_t members, GroupFinding& worst) const;

  const GroupLayout layout_;
  bool shared_, independent_rows_;
  std::vector<GroupStripe> stripes_;
};

// columns[i] += squares[i] unless columns is null; returns the sum of squares[0, n).
double AddSquares(const float* squares, int64_t n, float* columns);

// "row [2,5]", "tile at [64,128]" for a message.
std::string GroupText(const Shape& shape, int parts, const GroupFinding& group);

}  // namespace assay
