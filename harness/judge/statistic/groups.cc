// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/judge/localise.h"

namespace assay {
namespace {

constexpr int64_t kStripeUnit = 4096;      // of the judging chunk
constexpr int64_t kLeastStripe = 1 << 16;  // values; less is not worth a thread
constexpr int64_t kMostStripes = 64;
constexpr int64_t kRowsPerStripe = 16;  // at least, where columns are summed: they cost memory per stripe

void Consider(GroupKind kind, double sum, int64_t members, int64_t index, double limit, GroupFinding& worst) {
  const double rms = std::sqrt(sum / static_cast<double>(members));
  const double margin = rms / limit;
  if (margin > worst.margin) worst = {margin, rms, kind, index, members};
}

}  // namespace

std::string_view Name(GroupKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"row", "column", "tile", "slab", "tensor"};
  return kNames[static_cast<size_t>(kind)];
}

double GroupLimit(double m, double groups, bool shared) {
  const double x = std::log(groups / kGroupDelta), share = x / (shared ? 1 : m);
  return kModelSlack * std::sqrt(1 + 2 * std::sqrt(share) + 2 * share);
}

GroupLayout::GroupLayout(const Shape& shape, int parts) : values(NumElements(shape) * parts) {
  if (values == 0) return;
  columns = (shape.empty() ? 1 : shape.back()) * parts;
  rows = values / columns;
  if (shape.size() >= 2) slab_rows = shape[shape.size() - 2];
  by_row = columns >= kLeastMembers && rows > 1;
  by_column = rows >= kLeastMembers && columns > 1;
  by_tile = by_column && by_row;
  by_slab = by_row && slab_rows > 1 && rows / slab_rows > 1;
  const int64_t most = std::clamp<int64_t>(by_column ? rows / kRowsPerStripe : kMostStripes, 1, kMostStripes);
  const int64_t least = std::max(kLeastStripe, CeilDiv(values, most));
  stripe = CeilDiv(least, kStripeUnit) * kStripeUnit;
}

int64_t GroupLayout::Tiles() const {
  return (CeilDiv(rows, kGroupTile) + 2 * Stripes()) * CeilDiv(columns, kGroupTile);
}

GroupStripe::GroupStripe(const GroupLayout& layout, int64_t first, bool shared)
    : layout_(&layout),
      shared_(shared),
      first_row_(first / layout.columns),
      row_(first_row_),
      column_(first % layout.columns),
      block_first_row_(first_row_) {}

void GroupStripe::Add(const float* squares, int64_t n) {
  const bool columns = layout_->by_column;
  if (columns && block_.empty()) {  // here, on the thread that uses them
    block_.assign(static_cast<size_t>(layout_->columns), 0);
    totals_.assign(static_cast<size_t>(layout_->columns), 0);
  }
  while (n > 0) {
    const int64_t count = std::min(n, layout_->columns - column_);
    row_sum_ += AddSquares(squares, count, columns ? block_.data() + column_ : nullptr);
    block_values_ += count;
    squares += count;
    n -= count;
    column_ += count;
    if (column_ == layout_->columns) EndRow();
  }
}

void GroupStripe::EndRow() {
  row_sums_.push_back(row_sum_);
  row_sum_ = 0;
  column_ = 0;
  ++row_;
  if (layout_->by_column && ++block_rows_ == kGroupTile) EndBlock();
}

// Rows that a stripe has only a part of make their tiles smaller.
void GroupStripe::EndBlock() {
  const int64_t columns = layout_->columns;
  const double depth = static_cast<double>(block_values_) / static_cast<double>(columns);
  for (int64_t at = 0; at < columns; at += kGroupTile) {
    const int64_t width = std::min(kGroupTile, columns - at);
    double sum = 0;
    for (int64_t i = at; i < at + width; ++i) {
      sum += static_cast<double>(block_[i]);
      totals_[i] += static_cast<double>(block_[i]);
    }
    const auto members = static_cast<int64_t>(std::max(1.0, depth * static_cast<double>(width)));
    if (!layout_->by_tile || members < kLeastMembers) continue;
    const double limit = GroupLimit(static_cast<double>(members), static_cast<double>(layout_->Tiles()), shared_);
    Consider(GroupKind::kTile, sum, members, block_first_row_ * columns + at, limit, tile_);
  }
  std::ranges::fill(block_, 0.0F);
  block_values_ = block_rows_ = 0;
  block_first_row_ = row_;
}

void GroupStripe::Finish() {
  if (column_ > 0) row_sums_.push_back(row_sum_);
  if (block_values_ > 0 && layout_->by_column) EndBlock();
}

GroupSums::GroupSums(const GroupLayout& layout, bool shared, bool independent_rows)
    : layout_(layout), shared_(shared), independent_rows_(independent_rows) {
  for (int64_t k = 0; k < layout_.Stripes(); ++k) stripes_.emplace_back(layout_, k * layout_.stripe, shared);
}

void GroupSums::Test(GroupKind kind, const std::vector<double>& sums, int64_t members, GroupFinding& worst) const {
  const bool columns = shared_ && independent_rows_ && kind == GroupKind::kColumn;
  const int64_t independent = columns ? std::min(members, kMostIndependentRows) : members;
  const double limit =
      GroupLimit(static_cast<double>(independent), static_cast<double>(sums.size()), shared_ && !columns);
  for (size_t i = 0; i < sums.size(); ++i) {
    Consider(kind, sums[i], members, static_cast<int64_t>(i), limit, worst);
  }
}

GroupFinding GroupSums::Worst() {
  GroupFinding worst;
  if (stripes_.empty()) return worst;
  std::vector<double> rows(static_cast<size_t>(layout_.rows));
  std::vector<double> columns(layout_.by_column ? static_cast<size_t>(layout_.columns) : 0);
  for (GroupStripe& stripe : stripes_) {
    stripe.Finish();
    for (size_t i = 0; i < stripe.row_sums_.size(); ++i) {
      rows[static_cast<size_t>(stripe.first_row_) + i] += stripe.row_sums_[i];
    }
    for (size_t i = 0; i < stripe.totals_.size(); ++i) columns[i] += stripe.totals_[i];
    if (stripe.tile_.margin > worst.margin) worst = stripe.tile_;
  }
  if (layout_.by_row) Test(GroupKind::kRow, rows, layout_.columns, worst);
  if (layout_.by_column) Test(GroupKind::kColumn, columns, layout_.rows, worst);
  double whole = 0;
  std::vector<double> slabs(static_cast<size_t>(layout_.rows / layout_.slab_rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    whole += rows[i];
    slabs[i / static_cast<size_t>(layout_.slab_rows)] += rows[i];
  }
  if (layout_.by_slab) Test(GroupKind::kSlab, slabs, layout_.columns * layout_.slab_rows, worst);
  Test(GroupKind::kTensor, {whole}, layout_.values, worst);
  return worst;
}

std::string GroupText(const Shape& shape, int parts, const GroupFinding& group) {
  const GroupLayout layout(shape, parts);
  const auto at = [&](int64_t value) { return IndexText(shape, value / parts); };
  switch (group.kind) {
    case GroupKind::kRow:
      return fmt::format("the row at {}", at(group.index * layout.columns));
    case GroupKind::kColumn:
      return fmt::format("column {}", group.index / parts);
    case GroupKind::kTile:
      return fmt::format("the tile at {}", at(group.index));
    case GroupKind::kSlab:
      return fmt::format("the slab at {}", at(group.index * layout.columns * layout.slab_rows));
    case GroupKind::kTensor:
      return "the whole tensor";
  }
  return "";
}

}  // namespace assay
