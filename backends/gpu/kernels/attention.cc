// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/attention.h"

#include "backends/gpu/device/attention_flash.h"
#include "backends/gpu/device/attention_unit.h"
#include "backends/gpu/kernels.h"
#include "backends/gpu/kernels/dispatch.h"

namespace gpu {

void LaunchAttentionScores(Tag q, const AttentionParams& p, void* stream) {
  const int64_t blocks = CeilDiv(p.batch * p.heads * p.l * p.s, kAttentionThreads);
  ForFloat(q, [&](auto type) {
    Launch(AttentionScores<decltype(type)>, blocks, kAttentionThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchAttentionWeights(Tag q, const AttentionParams& p, void* stream) {
  ForFloat(q, [&](auto type) {
    Launch(AttentionWeights<decltype(type)>, QueryBlocks(p, 1), kAttentionThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchAttentionValues(Tag q, const AttentionParams& p, void* stream) {
  const int64_t blocks = CeilDiv(p.batch * p.heads * p.l * p.dv, kAttentionThreads);
  ForFloat(q, [&](auto type) {
    Launch(AttentionValues<decltype(type)>, blocks, kAttentionThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchFlashAttention(Tag q, const AttentionParams& p, void* stream) {
  ForFloat(q, [&](auto type) {
    Launch(FlashAttention<decltype(type)>, QueryBlocks(p, kFlashQueries), kAttentionThreads,
           static_cast<Stream>(stream), p);
  });
}

void LaunchUnitFlashAttention(Tag q, int threads, const AttentionParams& p, void* stream) {
  ForHalf(q, [&](auto type) {
    using T = decltype(type);
    Launch(Most(p.d, p.dv) <= 64 ? UnitFlashAttention<T, 64> : UnitFlashAttention<T, 128>, QueryBlocks(p, kUnitQueries),
           threads, static_cast<Stream>(stream), p);
  });
}

}  // namespace gpu
