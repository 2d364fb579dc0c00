// SPDX-License-Identifier: Apache-2.0
// Attention as a kernel of replaceable steps: correct schedules and bugs are the same loop with some steps exchanged.
// For each query and each tile of keys: scores, running maximum, rescaling of what was summed, exponentials, product
// with v; the division by the sum of the exponentials last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backends/common/attention_spec.h"
#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/entry.h"

namespace corpus {

using plugin::AttentionSpec;
using plugin::MaskKind;

// The query that is being answered.
struct Query {
  int64_t batch = 0, head = 0, row = 0;
};

template <class T>
T DotInOrder(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
T SumInOrder(const std::vector<T>& x) {
  T sum = 0;
  for (T term : x) sum += term;
  return sum;
}

template <class T>
T ExponentialOfDifference(T score, T max) {
  return std::exp(score - max);
}

template <class T>
T ScaleOf(const AttentionSpec& s) {
  return static_cast<T>(s.scale);
}

// Scale, cap, mask, in this order. `mask` is 0 where there is none to add.
template <class T>
T ScoreOf(const AttentionSpec& s, T dot, T scale, T mask) {
  T score = dot * scale;
  if (s.softcap > 0) score = static_cast<T>(s.softcap) * std::tanh(score / static_cast<T>(s.softcap));
  return s.mask_kind == MaskKind::kAdd ? score + mask : score;
}

inline int64_t KeyHeadOf(const AttentionSpec& s, int64_t head) {
  return head / (s.heads / s.kv_heads);
}

inline int64_t QueryHeadOf(const AttentionSpec&, int64_t head) {
  return head;
}

// Whether causality and window leave key j to the query.
inline bool IsInRange(const AttentionSpec& s, const Query& q, int64_t j) {
  const AttentionSpec::Range keys = s.KeysOf(q.row);
  return j >= keys.first && j < keys.last;
}

inline bool Always(const AttentionSpec&, const Query&, int64_t) {
  return true;
}

template <class T>
T Same(T x) {
  return x;
}

template <class T>
struct AttentionKernel {
  int64_t tile = 0;               // keys per tile; 0: all of them
  bool backwards = false;         // tiles from the last to the first
  int64_t units = 1;              // the keys are split over them; their results are merged
  T slack = 0;                    // the running maximum stays while the new one is no more than this above
  int64_t padding = 1;            // keys are padded by zeros to a multiple of this and not masked
  bool normalises_first = false;  // exponentials are divided by their sum before the product with v; one tile only
  bool masked_row_is_nan = false;

  bool masked_row_is_zero = false;  // where it should be NaN
  bool rescales_total = true, rescales_values = true, merges_rescaled = true;

  std::function<bool(const AttentionSpec&, const Query&, int64_t key)> sees = IsInRange;
  std::function<bool(const AttentionSpec&, const Query&, int64_t key)> counts_for_max = Always;
  std::function<bool(const AttentionSpec&, const Query&, int64_t key)> counts_for_sum = Always;
  std::function<bool(const AttentionSpec&, const Query&, int64_t tile)> rescales = Always;
  std::function<int64_t(const AttentionSpec&, int64_t head)> key_head = KeyHeadOf;
  std::function<int64_t(const AttentionSpec&, int64_t head)> query_head = QueryHeadOf;

  std::function<T(const T*, const T*, int64_t)> dot = DotInOrder<T>;
  std::function<T(const AttentionSpec&)> scale = ScaleOf<T>;
  std::function<T(const AttentionSpec&, T dot, T scale, T mask)> score = ScoreOf<T>;
  std::function<T(const std::vector<T>&)> sum = SumInOrder<T>;
  std::function<T(T score, T max)> exponential = ExponentialOfDifference<T>;
  // Roundings: of operands, of stored scores, of the exponentials as the product with v reads them, of the factor that
  // rescales, of the running sums of exponentials and of weighted values.
  std::function<T(T)> cast = Same<T>;
  std::function<T(T)> stored = Same<T>;
  std::function<T(T)> weight = Same<T>;
  std::function<T(T)> factor = Same<T>;
  std::function<T(T)> total = Same<T>;
  std::function<T(T)> reciprocal;  // none: the end is a division
  std::function<T(T)> value;       // none: as it is, since it is called for every weight and element
  T Value(T x) const { return value ? value(x) : x; }
};

// A query's running state: what one unit holds after some tiles.
template <class T>
struct AttentionState {
  explicit AttentionState(int64_t dv) : values(static_cast<size_t>(dv), T{0}) {}
  T max = -std::numeric_limits<T>::infinity();
  T total = 0;
  std::vector<T> values;
  bool has_keys = false;
};

// The keys of one tile that the query sees.
template <class T>
struct AttentionTile {
  std::vector<T> scores;
  std::vector<const T*> values;  // rows of v; null: a padding key
  std::vector<bool> in_max, in_sum;
};

// -inf - -inf is not wanted where nothing has been seen yet.
template <class T>
T FiniteMax(T max) {
  return max == -std::numeric_limits<T>::infinity() ? T{0} : max;
}

template <class T>
void RescaleTo(const AttentionKernel<T>& kernel, T max, bool rescales, AttentionState<T>& state) {
  if (state.has_keys && rescales && max != state.max) {
    const T factor = kernel.factor(kernel.exponential(state.max, FiniteMax(max)));
    if (kernel.rescales_total) state.total = kernel.total(state.total * factor);
    for (T& value : state.values) value = kernel.rescales_values ? kernel.Value(value * factor) : value;
  }
  state.max = max;
}

template <class T>
void AddTile(const AttentionKernel<T>& kernel, const AttentionTile<T>& tile, bool rescales, AttentionState<T>& state) {
  if (tile.scores.empty()) return;
  T max = -std::numeric_limits<T>::infinity();
  for (size_t i = 0; i < tile.scores.size(); ++i) max = tile.in_max[i] ? std::max(max, tile.scores[i]) : max;
  if (!state.has_keys || max > state.max + kernel.slack) RescaleTo(kernel, std::max(max, state.max), rescales, state);
  state.has_keys = true;

  std::vector<T> exponentials, counted;
  for (size_t i = 0; i < tile.scores.size(); ++i) {
    exponentials.push_back(kernel.exponential(tile.scores[i], FiniteMax(state.max)));
    if (tile.in_sum[i]) counted.push_back(exponentials.back());
  }
  state.total = kernel.total(state.total + kernel.sum(counted));
  for (size_t i = 0; i < tile.scores.size(); ++i) {
    if (tile.values[i] == nullptr) continue;
    const T p = kernel.normalises_first ? exponentials[i] / state.total : exponentials[i];
    const T weight = kernel.weight(p);
    for (size_t c = 0; c < state.values.size(); ++c) {
      state.values[c] = kernel.Value(state.values[c] + weight * tile.values[i][c]);
    }
  }
}

// `other`'s sums, from another unit, on top.
template <class T>
void Merge(const AttentionKernel<T>& kernel, AttentionState<T> other, AttentionState<T>& state) {
  if (!other.has_keys) return;
  const T max = std::max(state.max, other.max);
  RescaleTo(kernel, max, kernel.merges_rescaled, state);
  RescaleTo(kernel, max, kernel.merges_rescaled, other);
  state.total += other.total;
  for (size_t c = 0; c < state.values.size(); ++c) state.values[c] += other.values[c];
  state.has_keys = true;
}

// "" for what the corpus decodes. The output may be f64 whatever the operands, for effects.
std::string AttentionWhyNot(Description op);
// The spec without strides; unlike plugin::ParseAttention it takes the outputs of effects.
AttentionSpec AttentionSpecOf(Description op);
// f32acc or f64 with `more` behind.
std::string AttentionClass(Description op, const std::string& more);
std::string AttentionContract(Description op);  // with det and batchinv

}  // namespace corpus
