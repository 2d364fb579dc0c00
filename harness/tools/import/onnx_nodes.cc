// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/onnx_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/base/text.h"
#include "harness/tools/import/onnx_maps.h"

namespace assay {
namespace {

struct OnnxOperator {
  std::string_view known;  // attributes; one beside them may change what is computed
  OnnxResult (*map)(const OnnxCall& call);
};

const std::map<std::string_view, OnnxOperator>& OnnxOperators() {
  using Call = const OnnxCall&;
  constexpr std::string_view kReduce = "axes keepdims noop_with_empty_axes", kArg = "axis keepdims select_last_index";
  static const std::map<std::string_view, OnnxOperator> operators = {
      {"MatMul", {"", MapOnnxMatMul}},
      {"Gemm", {"alpha beta transA transB", MapGemm}},
      {"Conv", {"auto_pad dilations group kernel_shape pads strides", MapOnnxConv}},
      {"Softmax", {"axis", [](Call call) { return MapOnnxSoftmax(call, false); }}},
      {"LogSoftmax", {"axis", [](Call call) { return MapOnnxSoftmax(call, true); }}},
      {"ReduceSum", {kReduce, [](Call call) { return MapOnnxReduce(call, "sum"); }}},
      {"ReduceMean", {kReduce, [](Call call) { return MapOnnxReduce(call, "mean"); }}},
      {"ReduceMax", {kReduce, [](Call call) { return MapOnnxReduce(call, "max"); }}},
      {"ReduceMin", {kReduce, [](Call call) { return MapOnnxReduce(call, "min"); }}},
      {"ReduceProd", {kReduce, [](Call call) { return MapOnnxReduce(call, "prod"); }}},
      {"ReduceL2", {kReduce, [](Call call) { return MapOnnxReduce(call, "l2"); }}},
      {"ReduceLogSumExp", {kReduce, [](Call call) { return MapOnnxReduce(call, "logsumexp"); }}},
      {"ArgMax", {kArg, [](Call call) { return MapArg(call, "argmax"); }}},
      {"ArgMin", {kArg, [](Call call) { return MapArg(call, "argmin"); }}},
      {"LayerNormalization", {"axis epsilon stash_type", MapOnnxLayerNorm}},
      {"RMSNormalization", {"axis epsilon stash_type", MapOnnxRmsNorm}},
      {"GroupNormalization",
       {"epsilon num_groups stash_type", [](Call call) { return MapOnnxGroupNorm(call, false); }}},
      {"InstanceNormalization", {"epsilon", [](Call call) { return MapOnnxGroupNorm(call, true); }}},
      {"Exp", {"", [](Call call) { return MapElementwise(call, "exp"); }}},
      {"Log", {"", [](Call call) { return MapElementwise(call, "log"); }}},
      {"Tanh", {"", [](Call call) { return MapElementwise(call, "tanh"); }}},
      {"Erf", {"", [](Call call) { return MapElementwise(call, "erf"); }}},
      {"Sin", {"", [](Call call) { return MapElementwise(call, "sin"); }}},
      {"Cos", {"", [](Call call) { return MapElementwise(call, "cos"); }}},
      {"Gelu",
       {"approximate",
        [](Call call) {
          return MapElementwise(call, "gelu", {{"approx", call.Text("approximate", "none")}});
        }}},
      {"CumSum", {"exclusive reverse", MapOnnxCumSum}},
      {"TopK", {"axis largest sorted", MapOnnxTopK}},
      {"Gather", {"axis", MapGather}},
      {"Pow", {"", MapOnnxPow}},
      {"QuantizeLinear", {"axis block_size output_dtype precision saturate", MapOnnxQuantize}},
      {"DequantizeLinear", {"axis block_size output_dtype", MapOnnxDequantize}},
      {"RotaryEmbedding", {"interleaved num_heads rotary_embedding_dim", MapOnnxRope}},
      {"Attention",
       {"is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision", MapOnnxAttention}}};
  return operators;
}

Status CheckNodeAttributes(const OnnxNode& node, std::string_view known) {
  const std::vector<std::string_view> names = Split(known, ' ');
  for (const OnnxAttribute& attribute : node.attributes) {
    if (std::ranges::find(names, attribute.name) != names.end()) continue;
    return UsageError(fmt::format("{}: an attribute that is not known here", attribute.name.substr(0, 40)));
  }
  return {};
}

// Checks what every map relies on: the first operands are present, and all types exist in assay.
Status CheckTensors(const OnnxCall& call) {
  constexpr std::string_view kOfOne[] = {"Softmax", "LogSoftmax", "ArgMax", "ArgMin", "Exp", "Log",
                                         "Tanh",    "Erf",        "Gelu",   "Sin",    "Cos"};
  const std::string& op = call.node.op;
  const bool one = std::ranges::find(kOfOne, op) != std::end(kOfOne) || op.starts_with("Reduce");
  if (call.Input(0) == nullptr || call.outputs.empty() || call.outputs[0] == nullptr ||
      (!one && call.Input(1) == nullptr)) {
    return UsageError("it lacks one of its tensors");
  }
  for (const auto* list : {&call.inputs, &call.outputs}) {
    for (const OnnxTensor* tensor : *list) {
      if (tensor == nullptr) continue;
      if (!tensor->dtype) return UsageError("types that assay does not have");
      const bool may_be_empty = tensor == call.Input(1) && op.starts_with("Reduce");  // the list of axes
      if (tensor->data.size() == 0 && !may_be_empty) return UsageError("a tensor without elements");
      if (tensor->is_bool && op != "Attention") return UsageError("types that assay does not have");
    }
  }
  return {};
}

}  // namespace

// Cannot overflow: the elements of a tensor fit into memory.
int64_t OnnxProduct(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

Result<size_t> OnnxAxis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return UsageError("an axis that its tensor does not have");
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

std::vector<int64_t> OnnxIntegers(const OnnxTensor& tensor) {
  constexpr double kMost = 0x1p53;
  std::vector<int64_t> values;
  if (tensor.data.size() == 0 || !IsInt(*tensor.dtype)) return values;
  for (const double value : tensor.data.ToDoubles()) {
    values.push_back(static_cast<int64_t>(std::clamp(value, -kMost, kMost)));
  }
  return values;
}

const OnnxAttribute* OnnxCall::Find(std::string_view name) const {
  const auto at = std::ranges::find(node.attributes, name, &OnnxAttribute::name);
  return at == node.attributes.end() ? nullptr : &*at;
}

int64_t OnnxCall::Int(std::string_view name, int64_t usual) const {
  const OnnxAttribute* attribute = Find(name);
  return attribute == nullptr ? usual : attribute->integer;
}

double OnnxCall::Real(std::string_view name, double usual) const {
  const OnnxAttribute* attribute = Find(name);
  return attribute == nullptr ? usual : attribute->real;
}

std::string OnnxCall::Text(std::string_view name, std::string_view usual) const {
  const OnnxAttribute* attribute = Find(name);
  return attribute == nullptr ? std::string(usual) : attribute->text;
}

std::vector<int64_t> OnnxCall::Ints(std::string_view name) const {
  const OnnxAttribute* attribute = Find(name);
  return attribute == nullptr ? std::vector<int64_t>() : attribute->integers;
}

Status CheckOnnxOperator(const OnnxNode& node) {
  const bool is_own = node.domain.empty() || node.domain == "ai.onnx";
  if (is_own && OnnxOperators().contains(node.op)) return {};
  return UsageError(fmt::format("no operator {} here", node.op.substr(0, 40)));
}

Result<OnnxMapped> MapOnnxNode(const OnnxCall& call) {
  if (auto known = CheckOnnxOperator(call.node); !known) return tl::unexpected(known.error());
  if (auto tensors = CheckTensors(call); !tensors) return tl::unexpected(tensors.error());
  const OnnxOperator& op = OnnxOperators().at(call.node.op);
  if (auto attributes = CheckNodeAttributes(call.node, op.known); !attributes) {
    return tl::unexpected(attributes.error());
  }
  return op.map(call);
}

}  // namespace assay
