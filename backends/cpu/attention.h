// SPDX-License-Identifier: Apache-2.0
// attention for f64, f32, f16, bf16: scores, probabilities and sums in f32 (f64). Masked keys are never used, so that
// nothing behind a mask can reach the result.
#pragma once

#include <memory>
#include <string>

#include "backends/common/host.h"

namespace cpu {

std::string AttentionWhyNot(const plugin::OpDesc& op);
std::string AttentionContract(const plugin::OpDesc& op);

// block 0: a row of scores, its softmax, then the weighted sum; else by blocks of keys with running maximum and sum
// (Dao et al., arXiv 2205.14135).
std::unique_ptr<plugin::Plan> CreateAttentionPlan(const plugin::OpDesc& op, int64_t block);

template <int64_t kBlock>
std::unique_ptr<plugin::Plan> CreateAttention(plugin::HostDevice&, const plugin::OpDesc& op) {
  return CreateAttentionPlan(op, kBlock);
}

}  // namespace cpu
