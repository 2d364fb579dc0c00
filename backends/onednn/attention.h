// SPDX-License-Identifier: Apache-2.0
// attention composed of oneDNN's primitives: matmul with scale and mask as post-ops, softmax, matmul. Scores and
// probabilities stay in f32; for bf16 operands the probabilities are rounded to bf16 before the second product.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/host.h"
#include "backends/onednn/compat.h"

namespace onednn {

// Both throw Unsupported with the reason where the composition does not take the case.
std::vector<plugin::Implementation> QueryAttention(const plugin::OpDesc& op, const dnnl::engine& engine);
std::unique_ptr<plugin::Plan> CreateAttention(const plugin::OpDesc& op, const dnnl::engine& engine);

}  // namespace onednn
