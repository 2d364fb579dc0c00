// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/hidden_keys.h"

#include <cmath>
#include <limits>

#include "backends/onednn/element.h"

namespace onednn {
namespace {

using plugin::AttentionSpec;

// Element (query, column) of o; queries are counted through all batches and heads.
int64_t OutputOffset(const AttentionSpec& a, int64_t query, int64_t column) {
  const int64_t i = query % a.l, head = query / a.l % a.heads, batch = query / (a.l * a.heads);
  return batch * a.o[0] + head * a.o[1] + i * a.o[2] + column * a.o[3];
}

bool HidesSome(const AttentionSpec& a, const KeyMask& mask, int64_t query) {
  for (int64_t key = 0; key < a.s; ++key) {
    if (mask.Hides(query, key)) return true;
  }
  return false;
}

}  // namespace

bool MayHaveLeaked(const AttentionSpec& a, const KeyMask& mask, const std::byte* o) {
  for (int64_t query = 0; query < a.batch * a.heads * a.l; ++query) {
    if (mask.LeavesNothing(query)) continue;
    bool nan = false;
    for (int64_t c = 0; c < a.dv; ++c) nan = nan || std::isnan(LoadElement(a.dtype, o, OutputOffset(a, query, c)));
    if (nan && HidesSome(a, mask, query)) return true;
  }
  return false;
}

void MaskScores(const AttentionSpec& a, const KeyMask& mask, float* scores) {
  for (int64_t query = 0; query < a.batch * a.heads * a.l; ++query, scores += a.s) {
    for (int64_t key = 0; key < a.s; ++key) {
      scores[key] =
          mask.Hides(query, key) ? -std::numeric_limits<float>::infinity() : scores[key] + mask.Added(query, key);
    }
  }
}

std::vector<SpecialValue> TakeSpecialValues(const AttentionSpec& a, std::byte* v) {
  std::vector<SpecialValue> specials;
  for (int64_t row = 0; row < a.batch * a.kv_heads * a.s; ++row) {
    const int64_t key = row % a.s, head = row / a.s % a.kv_heads, batch = row / (a.s * a.kv_heads);
    for (int64_t c = 0; c < a.dv; ++c) {
      const int64_t offset = batch * a.v[0] + head * a.v[1] + key * a.v[2] + c * a.v[3];
      const float value = LoadElement(a.dtype, v, offset);
      if (std::isfinite(value)) continue;
      specials.push_back({batch, head, key, c, value});
      StoreElement(a.dtype, v, offset, 0);
    }
  }
  return specials;
}

void AddSpecialValues(const AttentionSpec& a, const KeyMask& mask, const std::vector<SpecialValue>& specials,
                      const std::byte* p, std::byte* o) {
  const int64_t rows = a.heads / a.kv_heads * a.l;  // the queries of a head of keys lie one after the other
  for (const SpecialValue& special : specials) {
    const int64_t first = (special.batch * a.kv_heads + special.head) * rows;
    for (int64_t query = first; query < first + rows; ++query) {
      if (mask.Hides(query, special.key)) continue;
      const int64_t at = OutputOffset(a, query, special.column);
      const float product = LoadElement(a.dtype, p, query * a.s + special.key) * special.value;
      StoreElement(a.dtype, o, at, LoadElement(a.dtype, o, at) + product);
    }
  }
}

void FillRowsWithoutKeys(const AttentionSpec& a, const KeyMask& mask, std::byte* o) {
  const float value = a.masked_nan ? std::numeric_limits<float>::quiet_NaN() : 0;
  for (int64_t query = 0; query < a.batch * a.heads * a.l; ++query) {
    if (!mask.LeavesNothing(query)) continue;
    for (int64_t c = 0; c < a.dv; ++c) StoreElement(a.dtype, o, OutputOffset(a, query, c), value);
  }
}

}  // namespace onednn
