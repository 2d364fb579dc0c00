// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cudnn_attention_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cuda_backend {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;
using Tensor = OperationGraph::Tensor;

// How far query 0 stands to the right of key 0.
constexpr int64_t kMostPositions = int64_t{1} << 29;

int64_t Shift(const AttentionSpec& a) {
  return a.top_left ? 0 : a.s - a.l;
}

bool HasDiagonals(const AttentionSpec& a) {
  return a.causal || a.window > 0;
}

constexpr const char* kUnaligned = "cuDNN's fused attention needs rows that begin at multiples of 16 bytes";

bool BeginsAligned(const AttentionSpec::Strides& strides, int64_t bytes) {
  const auto is_aligned = [&](int64_t stride) { return stride * bytes % OperationGraph::kOperandAlignment == 0; };
  return std::all_of(strides.begin(), strides.end() - 1, is_aligned);
}

// Keys to the right of a query's last one, or to the left of its first one, get no weight.
Tensor MaskDiagonals(OperationGraph& graph, const AttentionSpec& a, Tensor scores) {
  const Tensor none = graph.Value(-std::numeric_limits<float>::infinity());
  const Tensor row = graph.Index(scores, 2), column = graph.Index(scores, 3);
  const auto value = [&](int64_t x) { return graph.Value(static_cast<int32_t>(x)); };
  const int64_t window = std::min(a.window, a.l + a.s);  // what is wider permits the same keys; sums stay in 32 bits
  Tensor last = row;
  if (Shift(a) != 0) {
    last = graph.IndexSum(CUDNN_POINTWISE_ADD, last, value(a.s));
    last = graph.IndexSum(CUDNN_POINTWISE_SUB, last, value(a.l));
  }
  if (!a.causal) last = graph.IndexSum(CUDNN_POINTWISE_ADD, last, value(window - 1));
  scores = graph.Select(graph.Compare(CUDNN_POINTWISE_CMP_GE, last, column), scores, none);
  if (a.window == 0) return scores;
  const Tensor reach = graph.IndexSum(CUDNN_POINTWISE_ADD, column, value(window - Shift(a)));
  return graph.Select(graph.Compare(CUDNN_POINTWISE_CMP_GT, reach, row), scores, none);
}

Tensor Softmax(OperationGraph& graph, Tensor scores) {
  const Tensor most = graph.ReduceRows(CUDNN_REDUCE_TENSOR_MAX, scores);
  const Tensor weights = graph.Pointwise(CUDNN_POINTWISE_EXP, graph.Pointwise(CUDNN_POINTWISE_SUB, scores, most));
  const Tensor sum = graph.ReduceRows(CUDNN_REDUCE_TENSOR_ADD, weights);
  // The logarithm of the sum is part of the graph that the kernels are found by, whoever reads it.
  graph.Pointwise(CUDNN_POINTWISE_ADD, most, graph.Pointwise(CUDNN_POINTWISE_LOG, sum));
  return graph.Pointwise(CUDNN_POINTWISE_DIV, weights, sum);
}

}  // namespace

std::string FusedAttentionWhyNot(const AttentionSpec& a) {
  if (a.dtype != plugin::kF16 && a.dtype != plugin::kBF16) return "cuDNN's fused attention is in f16 and bf16";
  if (a.d % 8 != 0 || a.dv % 8 != 0) return "cuDNN's fused attention takes head dimensions that are multiples of 8";
  if (HasDiagonals(a) && a.l + a.s > kMostPositions) {
    return fmt::format("cuDNN counts positions in 32 bits: masks by position are offered for l + s up to {}",
                       kMostPositions);
  }
  for (const AttentionSpec::Strides* strides : {&a.q, &a.k, &a.v, &a.o}) {
    if ((*strides)[3] != 1) return "cuDNN's fused attention needs contiguous rows";
    if (!BeginsAligned(*strides, plugin::Bytes(a.dtype))) return kUnaligned;
  }
  if (a.mask_kind == MaskKind::kBool) return "cuDNN's fused attention adds masks, it takes none of truth values";
  if (a.mask_kind == MaskKind::kAdd) {
    if (a.mask_dtype != a.dtype && a.mask_dtype != plugin::kF32) {
      return "cuDNN's fused attention adds a mask in the operands' type or f32";
    }
    if (a.mask[3] != 1) return "cuDNN's fused attention needs a mask with contiguous rows";
    if (HasDiagonals(a) && Shift(a) != 0) {
      return "cuDNN's fused attention takes no mask beside causality or a window aligned to the last key";
    }
  }
  // Queries without keys: causality alone leaves every query the first one when both begin together.
  if (HasDiagonals(a) && a.l > a.s && (a.window > 0 || !a.top_left)) {
    return "cuDNN's fused attention takes windows, and causality aligned to the last key, for no more queries than "
           "keys";
  }
  return "";
}

OperationGraph AttentionGraph(const AttentionSpec& a) {
  OperationGraph graph;
  const cudnnDataType_t type = CudnnType(a.dtype);
  const auto swapped = [](OperationGraph::Extents x) { return std::swap(x[2], x[3]), x; };
  const Tensor q = graph.Operand(type, {a.batch, a.heads, a.l, a.d}, a.q);
  const Tensor k = graph.Operand(type, swapped({a.batch, a.kv_heads, a.s, a.d}), swapped(a.k));
  const Tensor v = graph.Operand(type, {a.batch, a.kv_heads, a.s, a.dv}, a.v);
  Tensor scores = graph.Product(q, k);
  scores = graph.Pointwise(CUDNN_POINTWISE_MUL, scores, graph.Value(static_cast<float>(a.scale)));
  if (a.softcap > 0) {
    const Tensor cap = graph.Value(static_cast<float>(a.softcap));
    scores = graph.Pointwise(CUDNN_POINTWISE_TANH_FWD, graph.Pointwise(CUDNN_POINTWISE_DIV, scores, cap));
    scores = graph.Pointwise(CUDNN_POINTWISE_MUL, scores, cap);
  }
  if (a.mask_kind == MaskKind::kAdd) {
    const bool shared = a.mask[0] == 0 && a.mask[1] == 0;
    const OperationGraph::Extents extents{shared ? 1 : a.batch, shared ? 1 : a.heads, a.l, a.s};
    const OperationGraph::Extents strides{shared ? a.mask[2] * a.l : a.mask[0], shared ? a.mask[2] * a.l : a.mask[1],
                                          a.mask[2], a.mask[3]};
    const Tensor mask = graph.Operand(CudnnType(a.mask_dtype), extents, strides);
    scores = graph.Pointwise(CUDNN_POINTWISE_ADD, scores, mask);
  }
  if (HasDiagonals(a)) scores = MaskDiagonals(graph, a, scores);
  const Tensor weights = Softmax(graph, scores);
  graph.Round(weights, type);
  graph.ProductInto(weights, v, graph.Operand(type, {a.batch, a.heads, a.l, a.dv}, a.o));
  return graph;
}

}  // namespace cuda_backend
