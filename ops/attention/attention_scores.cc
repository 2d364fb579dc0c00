// SPDX-License-Identifier: Apache-2.0
// The scores of a tile's queries and their magnitudes (attention_tile.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_scores.cc"
#include <algorithm>

#include "golden/bound/bound.h"
#include "harness/core/base/parallel.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention_lanes.h"
#include "ops/attention/attention_tile.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Block of scores: at least eight independent sums, with fewer loads than fused operations.
constexpr int kScoreRows = kManyRegisters ? kTileQueries : 4;

// to[r * n + j] = sum over c < depth of q[c * kStride + r] k[c * kKeyBlock + j], for the keys of a block; in float of
// |k|. Queries by component need one address alone; two vectors with names of their own stay in registers.
template <int kRows, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE void ScoreBlock(D d, const T* q, const float* k, int64_t depth, T* to, int64_t n) {
  const int64_t lanes = LanesOf(d);
  for (int64_t j = 0; j < kKeyBlock; j += 2 * lanes) {
    hn::Vec<D> near[kRows], far[kRows];
    for (int r = 0; r < kRows; ++r) near[r] = far[r] = hn::Zero(d);
    for (int64_t c = 0; c < depth; ++c) {
      // Asks for the next block, which comes from beyond the second-level cache where there are many keys.
      if constexpr (sizeof(T) == sizeof(double)) hwy::Prefetch(k + (depth + c) * kKeyBlock + j);
      const auto near_keys = Factors(d, k + c * kKeyBlock + j), far_keys = Factors(d, k + c * kKeyBlock + j + lanes);
      for (int r = 0; r < kRows; ++r) {
        const auto factor = hn::Set(d, q[c * kStride + r]);
        near[r] = hn::MulAdd(factor, near_keys, near[r]), far[r] = hn::MulAdd(factor, far_keys, far[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      hn::StoreU(near[r], d, to + r * n + j), hn::StoreU(far[r], d, to + r * n + j + lanes);
    }
  }
}

// `q` and `q32` are [depth, kRows].
template <int kRows>
HWY_INLINE void ScoreRowsOf(const double* q, const float* q32, const float* k, int64_t depth, int64_t n, float up,
                            double* dots, float* magnitudes) {
  const Floats d;
  constexpr int kAtOnce = std::min(kRows, kScoreRows);
  static_assert(kRows % kAtOnce == 0);
  for (int64_t j = 0; j < n; j += kKeyBlock, k += depth * kKeyBlock) {
    for (int r = 0; r < kRows; r += kAtOnce) {
      ScoreBlock<kAtOnce, kRows>(Doubles(), q + r, k, depth, dots + r * n + j, n);
    }
    for (int64_t c = 0; c < depth; c += kFloatKeys) {
      HWY_ALIGN float block[kRows * kKeyBlock];
      for (int r = 0; r < kRows; r += kAtOnce) {
        ScoreBlock<kAtOnce, kRows>(d, q32 + c * kRows + r, k + c * kKeyBlock, std::min(kFloatKeys, depth - c),
                                   block + r * kKeyBlock, kKeyBlock);
      }
      for (int r = 0; r < kRows; ++r) {
        float* to = magnitudes + r * n + j;
        for (int64_t i = 0; i < kKeyBlock; i += LanesOf(d)) {
          const auto raised = hn::Mul(hn::Load(d, block + r * kKeyBlock + i), hn::Set(d, up));
          hn::StoreU(c == 0 ? raised : hn::Add(hn::LoadU(d, to + i), raised), d, to + i);
        }
      }
    }
  }
}

void NarrowScoresOfImpl(const double* q, const float* q32, int64_t rows, const float* k, int64_t depth, int64_t n,
                        float up, double* dots, float* magnitudes) {
  thread_local std::vector<double> by_component;
  thread_local std::vector<float> sizes_by_component;
  int64_t r = 0;
  for (; r + kTileQueries <= rows; r += kTileQueries) {
    by_component.resize(static_cast<size_t>(depth * kTileQueries)), sizes_by_component.resize(by_component.size());
    for (int64_t i = 0; i < depth * kTileQueries; ++i) {
      const int64_t from = (r + i % kTileQueries) * depth + i / kTileQueries;
      by_component[i] = q[from], sizes_by_component[i] = q32[from];
    }
    ScoreRowsOf<kTileQueries>(by_component.data(), sizes_by_component.data(), k, depth, n, up, dots + r * n,
                              magnitudes + r * n);
  }
  for (; r < rows; ++r) {
    ScoreRowsOf<1>(q + r * depth, q32 + r * depth, k, depth, n, up, dots + r * n, magnitudes + r * n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(NarrowScoresOfImpl);

PackedKeys::PackedKeys(std::span<const double> k, int64_t heads, int64_t components, int64_t keys, int64_t stride)
    : depth(components), blocks((keys + kKeyBlock - 1) / kKeyBlock) {
  values.resize(static_cast<size_t>(heads * blocks * depth * kKeyBlock));
  ParallelFor(heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t key = block % blocks * kKeyBlock, count = std::min(kKeyBlock, keys - key);
      for (int64_t c = 0; c < depth; ++c) {
        const double* from = k.data() + (block / blocks * depth + c) * stride + key;
        const int64_t to = (block * depth + c) * kKeyBlock;
        for (int64_t i = 0; i < count; ++i) values[to + i] = static_cast<float>(from[i]);
      }
    }
  });
}

void NarrowScoresOf(const double* q, const float* q32, int64_t rows, const PackedKeys& keys, int64_t head,
                    int64_t first, int64_t n, double* dots, float* magnitudes) {
  const int64_t at = keys.At(head, first), blocks = (keys.depth + kFloatKeys - 1) / kFloatKeys;
  // Room for the roundings of the factor itself, of the products with it, and of the additions of blocks.
  const double up = FloatSumsUp() * (1 + 0x1p-23 * static_cast<double>(blocks + 1));
  HWY_DYNAMIC_DISPATCH(NarrowScoresOfImpl)
  (q, q32, rows, keys.values.data() + at, keys.depth, n, static_cast<float>(up), dots, magnitudes);
}

}  // namespace assay
#endif  // HWY_ONCE
