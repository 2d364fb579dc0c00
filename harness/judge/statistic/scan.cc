// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "harness/judge/localise.h"

namespace assay {
namespace {

constexpr int64_t kTiles[] = {16, 32, 64};
constexpr int64_t kEdgeTiles[] = {16, 64};
constexpr int64_t kLanes = 16;
// Whole tensor, row, column, slab, tiles, last row and column, both edges of each edge tile, lanes.
constexpr double kScans = 4 + 3 + 2 + 2 * 2 + 1;
// Terms of a binomial tail below this share of delta cannot move the quantile.
constexpr double kNegligible = 1e-12;

class Scan {
 public:
  Scan(const Shape& shape, int parts, std::span<const int64_t> outliers)
      : shape_(shape), parts_(parts), layout_(shape, parts), outliers_(outliers) {}

  Cluster Whole(int64_t count) {
    if (layout_.values >= kLeastMembers) Weigh(layout_.values, 1, count, [] { return "the whole tensor"; });
    return worst_;
  }

  Cluster Worst() {
    Whole(std::ssize(outliers_));
    if (layout_.by_row) ScanRows();
    if (layout_.by_column) ScanColumns();
    if (layout_.by_slab) ScanSlabs();
    if (layout_.by_row) {
      for (const int64_t tile : kTiles) ScanTiles(tile);
    }
    if (layout_.rows > 1) ScanEdges();
    return worst_;
  }

 private:
  using Key = std::function<int64_t(int64_t value)>;  // of a value's part; negative: in none
  using Text = std::function<std::string(int64_t key)>;

  int64_t Row(int64_t value) const { return value / layout_.columns % layout_.slab_rows; }
  int64_t Column(int64_t value) const { return value % layout_.columns; }
  int64_t Slab(int64_t value) const { return value / layout_.columns / layout_.slab_rows; }
  int64_t Slabs() const { return layout_.rows / layout_.slab_rows; }
  std::string At(int64_t value) const { return IndexText(shape_, value / parts_); }

  // The fullest of `groups` parts of `members` values each.
  void Consider(int64_t members, int64_t groups, const Key& key, const Text& text) {
    if (members < kLeastMembers) return;
    keys_.clear();
    for (const int64_t value : outliers_) {
      if (const int64_t k = key(value); k >= 0) keys_.push_back(k);
    }
    std::ranges::sort(keys_);
    int64_t most = 0, run = 0, fullest = -1;
    for (size_t i = 0; i < keys_.size(); ++i) {
      run = i > 0 && keys_[i] == keys_[i - 1] ? run + 1 : 1;
      if (run > most) most = run, fullest = keys_[i];
    }
    if (most > 0) Weigh(members, groups, most, [&] { return text(fullest); });
  }

  // The fullest of the parts has `most`.
  void Weigh(int64_t members, int64_t groups, int64_t most, const std::function<std::string()>& where) {
    const double delta = kGroupDelta / (kScans * static_cast<double>(groups));
    const int64_t limit = std::max<int64_t>(1, BinomialUpperQuantile(members, kOutlierChance, delta));
    const double margin = static_cast<double>(most) / static_cast<double>(limit);
    if (margin > worst_.margin) worst_ = {most, limit, margin, where()};
  }

  void ScanRows() {
    Consider(
        layout_.columns, layout_.rows, [this](int64_t v) { return v / layout_.columns; },
        [this](int64_t row) { return fmt::format("the row at {}", At(row * layout_.columns)); });
  }
  void ScanColumns() {
    Consider(
        layout_.rows, layout_.columns, [this](int64_t v) { return Column(v); },
        [this](int64_t column) { return fmt::format("column {}", column / parts_); });
    if (layout_.columns < 2 * kLanes) return;
    Consider(
        layout_.rows * CeilDiv(layout_.columns, kLanes), kLanes, [this](int64_t v) { return Column(v) % kLanes; },
        [this](int64_t lane) { return fmt::format("every {}th column from {}", kLanes / parts_, lane / parts_); });
  }
  void ScanSlabs() {
    const int64_t members = layout_.columns * layout_.slab_rows;
    Consider(
        members, Slabs(), [this](int64_t v) { return Slab(v); },
        [this, members](int64_t slab) { return fmt::format("the slab at {}", At(slab * members)); });
  }
  // Tiles at the edges have fewer values, and the limit of a whole one.
  void ScanTiles(int64_t tile) {
    const int64_t width = tile * parts_, across = CeilDiv(layout_.columns, width);
    const int64_t down = CeilDiv(layout_.slab_rows, tile);
    const int64_t members = std::min(width, layout_.columns) * std::min(tile, layout_.slab_rows);
    Consider(
        members, Slabs() * down * across,
        [=, this](int64_t v) { return (Slab(v) * down + Row(v) / tile) * across + Column(v) / width; },
        [=, this](int64_t key) {
          const int64_t row = key / across % down * tile + key / across / down * layout_.slab_rows;
          return fmt::format("the {0} x {0} tile at {1}", tile, At(row * layout_.columns + key % across * width));
        });
  }
  // Scans the remainder that fills no tile, over all slabs together.
  void ScanEdges() {
    ScanLastRows(1);
    ScanLastColumns(1);
    for (const int64_t tile : kEdgeTiles) {
      if (layout_.slab_rows > tile) ScanLastRows(layout_.slab_rows % tile);
      if (layout_.columns > tile * parts_) ScanLastColumns(layout_.columns / parts_ % tile);
    }
  }
  void ScanLastRows(int64_t count) {
    if (count == 0 || count >= layout_.slab_rows) return;
    Consider(
        Slabs() * count * layout_.columns, 1,
        [=, this](int64_t v) { return Row(v) >= layout_.slab_rows - count ? 0 : -1; },
        [=](int64_t) { return fmt::format("the last {} rows", count); });
  }
  void ScanLastColumns(int64_t count) {
    if (count == 0 || count * parts_ >= layout_.columns) return;
    Consider(
        layout_.rows * count * parts_, 1,
        [=, this](int64_t v) { return Column(v) >= layout_.columns - count * parts_ ? 0 : -1; },
        [=](int64_t) { return fmt::format("the last {} columns", count); });
  }

  const Shape& shape_;
  const int parts_;
  const GroupLayout layout_;
  std::span<const int64_t> outliers_;
  std::vector<int64_t> keys_;
  Cluster worst_;
};

}  // namespace

int64_t BinomialUpperQuantile(int64_t trials, double chance, double delta) {
  const auto n = static_cast<double>(trials);
  const double least = std::log(delta * kNegligible), odds = std::log(chance) - std::log1p(-chance);
  double log_term = n * std::log1p(-chance);  // of P(X = k)
  std::vector<double> terms = {std::exp(log_term)};
  for (int64_t k = 1; k <= trials; ++k) {
    const auto x = static_cast<double>(k);
    log_term += std::log((n - x + 1) / x) + odds;
    if (x > n * chance && log_term < least) break;
    terms.push_back(std::exp(log_term));
  }
  double tail = 0;
  int64_t k = std::ssize(terms) - 1;
  while (k > 0 && tail + terms[static_cast<size_t>(k)] <= delta) tail += terms[static_cast<size_t>(k--)];
  return k;
}

Cluster WorstCluster(const Shape& shape, int parts, std::span<const int64_t> outliers) {
  if (outliers.empty()) return {};
  return Scan(shape, parts, outliers).Worst();
}

Cluster WholeCluster(const Shape& shape, int parts, int64_t outliers) {
  return Scan(shape, parts, {}).Whole(outliers);
}

}  // namespace assay
