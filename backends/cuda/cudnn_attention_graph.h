// SPDX-License-Identifier: Apache-2.0
// Attention as the graph that cuDNN's fused kernels are found by: two products, and between them scale, softcap, an
// added mask, the diagonals that causality and a window leave, and softmax.
#pragma once

#include <string>

#include "backends/common/attention_spec.h"
#include "backends/cuda/cudnn_graph.h"

namespace cuda_backend {

// Why cuDNN's fused kernels do not offer it (NVIDIA's documentation of the operation and of its front end); "" when
// they may: the last word is with OperationGraph::Compile.
std::string FusedAttentionWhyNot(const plugin::AttentionSpec& a);

// Operands: q, k, v, the mask if there is one, o.
OperationGraph AttentionGraph(const plugin::AttentionSpec& a);

}  // namespace cuda_backend
