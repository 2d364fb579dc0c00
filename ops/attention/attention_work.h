// SPDX-License-Identifier: Apache-2.0
// Working memory for the golden values of attention's queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_columns.h"

namespace assay {

// One query at work, kept from row to row.
struct RowWork {
  explicit RowWork(int64_t n) : columns(n) {}
  std::span<const WeightedKey> Stretch(size_t first) const {
    const size_t begin = std::min(first, keys.size());
    return std::span(keys).subspan(begin, std::min<size_t>(kKeyStretch, keys.size() - begin));
  }

  int64_t row = 0;
  AttentionRow weights;  // of another row, where a tile has the weights
  RowSums sums;
  int64_t first_key = 0, seen = 0;  // how many are seen
  bool consecutive = false;         // with rows of v that follow each other, all finite
  bool unclear = false, may_be_nan = false;
  std::vector<int64_t> unclear_keys, weightless_keys;  // as in AttentionRow
  double off = 0;                                      // what a distance may lack, in |o|
  AttentionColumns columns;
  bool counts = false;                     // false: there is nothing to sum
  std::vector<WeightedKey> keys;           // none then, and where a tile has the weights
  std::deque<std::vector<double>> copies;  // rows of v without their infinities and NaN
};

// Caches the sums over keys that do not depend on the query. Neighbouring queries often see the same keys, or a few
// more.
class SeenKeys {
 public:
  explicit SeenKeys(int64_t n) : columns_(n) {}
  // Consecutive keys from `v` on.
  const KeyColumns& Of(const double* v, int64_t count) {
    if (first_ == v && count_ == static_cast<size_t>(count)) return columns_;
    list_.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) list_[i].v = v + i * std::ssize(columns_.values);
    return Of(list_, true);
  }
  // `consecutive`: the keys' rows of v follow each other.
  const KeyColumns& Of(std::span<const WeightedKey> keys, bool consecutive) {
    if (!consecutive || first_ != keys[0].v || keys.size() < count_) {
      std::ranges::fill(columns_.values, 0.0);
      std::ranges::fill(columns_.low, kInfinity);
      std::ranges::fill(columns_.high, -kInfinity);
      count_ = 0;
    }
    SumKeys(keys.subspan(count_), std::ssize(columns_.values), columns_);
    first_ = consecutive ? keys[0].v : nullptr;
    count_ = keys.size();
    return columns_;
  }

 private:
  KeyColumns columns_;
  const double* first_ = nullptr;
  size_t count_ = 0;
  std::vector<WeightedKey> list_;
};

// Numbers that the columns of a row share when all keys are in their sums.
struct RowEnd {
  double keys = 0, weight_squares = 0;    // how many are seen; sum p^2
  double score_error = 0, sum_error = 0;  // of golden's own arithmetic
  bool lacks = false;                     // whether sums of distances may lack something:
  double off = 0;                         // relative to |o| and to the weights' sum, dot_mean or added_mean
  double dot_mean = 0, added_mean = 0, dot_least = 0, added_least = 0;
};
// Sets range, raises dot and added by what they may lack, and sets error, sigma, shift and move.
void FinishColumns(const RowEnd& row, const KeyColumns& keys, AttentionColumns& columns);

// The values of w.columns again in double-double.
void RefineRow(const AttentionArgs& op, const AttentionData& data, RowWork& w);

// Replaces the values of rows whose scores overflow in double though their operands are finite by those of exact
// arithmetic. Their error is infinite, as nothing is promised of them.
void ReplaceBeyondDouble(const AttentionArgs& op, const AttentionData& data, Golden& golden);

}  // namespace assay
