// SPDX-License-Identifier: Apache-2.0
// Parameters of attention kernels, and the keys that a query sees. Pure index arithmetic.
#pragma once

#include "backends/gpu/device/integers.h"
#include "backends/gpu/device/tags.h"
#include "backends/gpu/device/tile_shape.h"

namespace gpu {

inline constexpr int kAttentionThreads = 256;
inline constexpr int kFlashQueries = 16, kUnitQueries = 16 * kFlashWaves;  // of a block

enum class MaskForm : int32_t { kNone, kBool, kAdd };

struct AttentionParams {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  void *o = nullptr, *scores = nullptr;  // scores[batch, head, l, s] in the accumulator's type
  MaskForm mask_form{};
  Tag mask_type{};
  int32_t causal = 0, masked_nan = 0, capped = 0;
  int64_t batch = 1, heads = 1, group = 1, l = 1, s = 1, d = 1, dv = 1;  // `group` query heads share a key head
  int64_t window = 0, shift = 0;  // query i stands at key i + shift; window 0: none
  double scale = 1, softcap = 0;
  int64_t q_at[4]{}, k_at[4]{}, v_at[4]{}, o_at[4]{}, mask_at[4]{};  // strides of batch, head, row, column
};

// Blocks of a launch with so many queries of one head in each.
GPU_FN int64_t QueryBlocks(const AttentionParams& p, int64_t queries) {
  return p.batch * p.heads * CeilDiv(p.l, queries);
}

// The keys [first, last) that causality and window leave to a query.
struct KeyRange {
  int64_t first, last;
};

GPU_FN KeyRange KeysOf(const AttentionParams& p, int64_t query) {
  const int64_t at = query + p.shift, reach = Least(p.window, p.l + p.s);
  KeyRange keys{0, p.s};
  if (p.causal) keys.last = Least(keys.last, at + 1);
  if (p.window > 0) keys.first = Most(keys.first, at - reach + 1), keys.last = Least(keys.last, at + reach);
  keys.last = Most(keys.last, 0);
  keys.first = Least(keys.first, keys.last);
  return keys;
}

GPU_FN int64_t RowOf(const int64_t* strides, int64_t batch, int64_t head, int64_t row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

}  // namespace gpu
