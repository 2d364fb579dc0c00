// SPDX-License-Identifier: Apache-2.0
#include "harness/import/onnx_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "harness/base/text.h"
#include "harness/import/extents.h"

namespace assay {
namespace {

using OnnxResult = Result<OnnxMapped>;

std::string N(int64_t value) {
  return std::to_string(value);
}

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;  // of a tensor that is there: its elements fit into memory
  for (size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

// The axis counted from the front, or nothing.
Result<size_t> AxisOf(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return UsageError("an axis that its tensor does not have");
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

std::vector<int64_t> IntegersOf(const OnnxTensor& tensor) {
  std::vector<int64_t> values;
  if (tensor.data.size() == 0) return values;
  for (const double value : tensor.data.ToDoubles()) values.push_back(static_cast<int64_t>(value));
  return values;
}

// Batches of both operands that are equal, or rows of a that all meet one b.
OnnxResult MapOnnxMatMul(const OnnxCall& call) {
  const Shape &a = call.inputs[0]->shape, &b = call.inputs[1]->shape;
  const size_t ra = a.size(), rb = b.size();
  if (ra < 2 || rb < 2) return UsageError("a vector as an operand of a product");
  const int64_t k = a[ra - 1], n = b[rb - 1], batch_a = Product(a, 0, ra - 2), batch_b = Product(b, 0, rb - 2);
  const bool equal = ra == rb && std::equal(a.begin(), a.end() - 2, b.begin());
  if (!equal && batch_b != 1) return UsageError("operands are repeated over the batch");
  const int64_t batch = equal ? batch_a : 1, m = a[ra - 2] * (equal ? 1 : batch_a);
  const auto shape = [&](int64_t rows, int64_t columns) {
    return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
  };
  return OnnxMapped{{"matmul",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"m", N(m)}, {"n", N(n)}, {"k", N(k)}, {"batch", N(batch)}}},
                    {{"a", 0, shape(m, k)}, {"b", 1, shape(k, n)}},
                    {{"y", 0, shape(m, n)}}};
}

OnnxResult MapGemm(const OnnxCall& call) {
  const Shape &a = call.inputs[0]->shape, &b = call.inputs[1]->shape, &y = call.outputs[0]->shape;
  if (a.size() != 2 || b.size() != 2 || y.size() != 2)
    return UsageError("the shapes of a product do not fit each other");
  const bool transa = call.Int("transA", 0) != 0, transb = call.Int("transB", 0) != 0;
  const int64_t m = y[0], n = y[1], k = transa ? a[0] : a[1];
  OnnxMapped mapped{{"matmul",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"m", N(m)},
                      {"n", N(n)},
                      {"k", N(k)},
                      {"transa", transa ? "1" : "0"},
                      {"transb", transb ? "1" : "0"},
                      {"alpha", fmt::format("{}", call.Real("alpha", 1))}}},
                    {{"a", 0, a}, {"b", 1, b}},
                    {{"y", 0, y}}};
  const double beta = call.Real("beta", 1);
  const OnnxTensor* c = call.Input(2);
  if (c == nullptr || beta == 0) return mapped;
  if (c->shape == y) {
    mapped.spec.attrs.emplace_back("beta", fmt::format("{}", beta));
    mapped.inputs.push_back({"c", 2, y});
  } else if ((c->shape == Shape{n} || c->shape == Shape{1, n}) && beta == 1) {
    mapped.spec.attrs.emplace_back("bias", "1");
    mapped.inputs.push_back({"bias", 2, {n}});
  } else {
    return UsageError("C is repeated, other than as a bias along n");
  }
  return mapped;
}

// The padding of each axis, the same at both ends.
Result<Shape> PaddingOf(const OnnxCall& call, const Shape& i, const Shape& k, const Shape& stride,
                        const Shape& dilation) {
  const std::string automatic = call.Text("auto_pad", "NOTSET");
  Shape pads = call.Ints("pads");
  const size_t axes = i.size();
  if (automatic == "VALID" || pads.empty()) pads.assign(2 * axes, 0);
  if (pads.size() != 2 * axes) return UsageError("pads: not two for each axis");
  if (automatic.starts_with("SAME")) {
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t outputs = (i[axis] + stride[axis] - 1) / stride[axis];
      const int64_t all = (outputs - 1) * stride[axis] + (k[axis] - 1) * dilation[axis] + 1 - i[axis];
      pads[axis] = std::max<int64_t>(all, 0) / 2;
      pads[axes + axis] = std::max<int64_t>(all, 0) - pads[axis];
    }
  }
  for (size_t axis = 0; axis < axes; ++axis) {
    if (pads[axis] != pads[axes + axis] || pads[axis] < 0 || pads[axis] > kLargestExtent)
      return UsageError("padding that differs between both ends");
  }
  pads.resize(axes);
  return pads;
}

Result<Shape> PerAxis(const OnnxCall& call, std::string_view name, size_t axes) {
  Shape values = call.Ints(name);
  if (values.empty()) values.assign(axes, 1);
  const bool fine = std::ranges::all_of(values, [](int64_t value) { return value >= 1 && value <= kLargestExtent; });
  if (values.size() != axes || !fine) return UsageError(fmt::format("{}: not one for each axis", name));
  return values;
}

OnnxResult MapOnnxConv(const OnnxCall& call) {
  const Shape &x = call.inputs[0]->shape, &w = call.inputs[1]->shape;
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size())
    return UsageError("an image of other than one to three axes");
  const Shape i(x.begin() + 2, x.end()), k(w.begin() + 2, w.end());
  const auto stride = PerAxis(call, "strides", i.size()), dilation = PerAxis(call, "dilations", i.size());
  if (!stride || !dilation) return tl::unexpected(stride ? dilation.error() : stride.error());
  const auto pad = PaddingOf(call, i, k, *stride, *dilation);
  if (!pad) return tl::unexpected(pad.error());
  OnnxMapped mapped{{"conv",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"n", N(x[0])},
                      {"c", N(x[1])},
                      {"o", N(w[0])},
                      {"i", DimsText(i)},
                      {"k", DimsText(k)},
                      {"stride", DimsText(*stride)},
                      {"pad", DimsText(*pad)},
                      {"dilation", DimsText(*dilation)},
                      {"groups", N(call.Int("group", 1))},
                      {"bias", call.Input(2) != nullptr ? "1" : "0"}}},
                    {{"x", 0, x}, {"w", 1, w}},
                    {{"y", 0, call.outputs[0]->shape}}};
  if (call.Input(2) != nullptr) mapped.inputs.push_back({"bias", 2, {w[0]}});
  return mapped;
}

OnnxResult MapOnnxSoftmax(const OnnxCall& call, bool log) {
  constexpr int64_t kPerAxis = 13;  // the opset from which on one axis sums to one; before, all from that axis on
  Shape shape = call.inputs[0]->shape;
  const auto axis = AxisOf(call.Int("axis", call.opset < kPerAxis ? 1 : -1), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (call.opset < kPerAxis) shape = {Product(shape, 0, *axis), Product(shape, *axis, shape.size())};
  const std::string ours = N(call.opset < kPerAxis ? 1 : static_cast<int64_t>(*axis));
  return OnnxMapped{
      {"softmax", {*call.inputs[0]->dtype}, {{"shape", DimsText(shape)}, {"axis", ours}, {"log", log ? "1" : "0"}}},
      {{"x", 0, shape}},
      {{"y", 0, shape}}};
}

// The axes to reduce: an attribute, or an input in later opsets; without either, all.
Result<std::string> ReducedAxes(const OnnxCall& call) {
  const size_t rank = call.inputs[0]->shape.size();
  std::vector<int64_t> axes = call.Ints("axes");
  if (call.Input(1) != nullptr) axes = IntegersOf(*call.Input(1));
  if (axes.empty()) {
    if (call.Int("noop_with_empty_axes", 0) != 0) return UsageError("no axis is reduced");
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::string text;
  for (const int64_t axis : axes) {
    const auto own = AxisOf(axis, rank);
    if (!own) return tl::unexpected(own.error());
    text += fmt::format("{}{}", text.empty() ? "" : "+", *own);
  }
  return text;
}

OnnxResult MapOnnxReduce(const OnnxCall& call, const char* kind) {
  const Shape& shape = call.inputs[0]->shape;
  if (shape.empty()) return UsageError("a scalar, where operators here have axes");
  const auto axes = ReducedAxes(call);
  if (!axes) return tl::unexpected(axes.error());
  return OnnxMapped{
      {"reduce",
       {*call.inputs[0]->dtype, *call.outputs[0]->dtype},
       {{"shape", DimsText(shape)}, {"axes", *axes}, {"kind", kind}, {"keepdims", N(call.Int("keepdims", 1))}},
       std::string_view(kind) == "prod" ? "near_one" : "normal"},
      {{"x", 0, shape}},
      {{"y", 0, call.outputs[0]->shape}}};
}

OnnxResult MapArg(const OnnxCall& call, const char* kind) {
  const Shape& shape = call.inputs[0]->shape;
  if (call.Int("select_last_index", 0) != 0) return UsageError("of equal elements the last one is taken");
  const auto axis = AxisOf(call.Int("axis", 0), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  return OnnxMapped{{"reduce",
                     {*call.inputs[0]->dtype, DType::kI64},
                     {{"shape", DimsText(shape)},
                      {"axes", N(static_cast<int64_t>(*axis))},
                      {"kind", kind},
                      {"keepdims", N(call.Int("keepdims", 1))}}},
                    {{"x", 0, shape}},
                    {{"y", 0, call.outputs[0]->shape}}};
}

struct RowsShape {
  int64_t rows, n;
};
Result<RowsShape> RowsFrom(const OnnxCall& call, int64_t axis) {
  const Shape& shape = call.inputs[0]->shape;
  const auto own = AxisOf(axis, shape.size());
  if (!own) return tl::unexpected(own.error());
  return RowsShape{Product(shape, 0, *own), Product(shape, *own, shape.size())};
}

std::string EpsilonOf(const OnnxCall& call) {
  const auto* epsilon = call.Find("epsilon");
  return epsilon == nullptr ? "1e-05" : fmt::format("{}", epsilon->real);
}

OnnxResult MapOnnxLayerNorm(const OnnxCall& call) {
  const auto shape = RowsFrom(call, call.Int("axis", -1));
  if (!shape) return tl::unexpected(shape.error());
  const auto [rows, n] = *shape;
  if (call.Input(2) == nullptr) return UsageError("a norm without shift; one here has scale and shift");
  for (size_t i : {1, 2}) {
    if (call.inputs[i]->data.size() != n) return UsageError("scale or shift are repeated along the rows");
  }
  if (call.outputs.size() == 2) return UsageError("the mean as output, but not the deviation");
  OnnxMapped mapped{{"layer_norm",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.inputs[2]->dtype, *call.outputs[0]->dtype},
                     {{"rows", N(rows)}, {"n", N(n)}, {"eps", EpsilonOf(call)}}},
                    {{"x", 0, {rows, n}}, {"gamma", 1, {n}}, {"beta", 2, {n}}},
                    {{"y", 0, {rows, n}}}};
  if (call.outputs.size() > 2) {
    mapped.spec.attrs.emplace_back("stats", "1");
    mapped.outputs.insert(mapped.outputs.end(), {{"mean", 1, {rows}}, {"rstd", 2, {rows}}});
  }
  return mapped;
}

OnnxResult MapOnnxRmsNorm(const OnnxCall& call) {
  const auto shape = RowsFrom(call, call.Int("axis", -1));
  if (!shape) return tl::unexpected(shape.error());
  const auto [rows, n] = *shape;
  if (call.inputs[1]->data.size() != n) return UsageError("scale or shift are repeated along the rows");
  return OnnxMapped{{"rms_norm",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"rows", N(rows)}, {"n", N(n)}, {"eps", EpsilonOf(call)}}},
                    {{"x", 0, {rows, n}}, {"gamma", 1, {n}}},
                    {{"y", 0, {rows, n}}}};
}

OnnxResult MapOnnxGroupNorm(const OnnxCall& call, bool each_channel) {
  const Shape& x = call.inputs[0]->shape;
  if (x.size() < 3 || call.Input(2) == nullptr) return UsageError("the shapes of a norm do not fit each other");
  const int64_t groups = each_channel ? x[1] : call.Int("num_groups", 0), n = Product(x, 2, x.size());
  if (groups < 1 || x[1] % groups != 0) return UsageError("the groups do not divide the channels");
  for (size_t i : {1, 2}) {
    if (call.inputs[i]->data.size() != x[1])
      return UsageError("scale and shift of each group, where here each channel has them");
  }
  const Shape of_channels = {groups, x[1] / groups}, all = {x[0], groups, x[1] / groups, n};
  return OnnxMapped{
      {"group_norm",
       {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.inputs[2]->dtype, *call.outputs[0]->dtype},
       {{"b", N(x[0])}, {"g", N(groups)}, {"c", N(of_channels[1])}, {"n", N(n)}, {"eps", EpsilonOf(call)}}},
      {{"x", 0, all}, {"gamma", 1, of_channels}, {"beta", 2, of_channels}},
      {{"y", 0, all}}};
}

OnnxResult MapElementwise(const OnnxCall& call, const char* op, AttrList more = {}) {
  const int64_t n = call.inputs[0]->data.size();
  more.insert(more.begin(), {"n", N(n)});
  return OnnxMapped{{op, {*call.inputs[0]->dtype, *call.outputs[0]->dtype}, more}, {{"x", 0, {n}}}, {{"y", 0, {n}}}};
}

OnnxResult MapOnnxCumSum(const OnnxCall& call) {
  const Shape& shape = call.inputs[0]->shape;
  if (call.Int("exclusive", 0) != 0 || call.Int("reverse", 0) != 0)
    return UsageError("sums without the element, or from the end");
  const std::vector<int64_t> stated = IntegersOf(*call.inputs[1]);
  const auto axis = AxisOf(stated.empty() ? 0 : stated[0], shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (*axis + 1 != shape.size()) return UsageError("another axis than the last");
  const int64_t n = shape.back(), rows = Product(shape, 0, *axis);
  return OnnxMapped{{"cumsum", {*call.inputs[0]->dtype}, {{"rows", N(rows)}, {"n", N(n)}}},
                    {{"x", 0, {rows, n}}},
                    {{"y", 0, {rows, n}}}};
}

OnnxResult MapOnnxTopK(const OnnxCall& call) {
  const Shape& shape = call.inputs[0]->shape;
  const auto axis = AxisOf(call.Int("axis", -1), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (*axis + 1 != shape.size()) return UsageError("another axis than the last");
  if (call.Int("sorted", 1) == 0) return UsageError("results in any order");
  if (call.outputs.size() != 2) return UsageError("it lacks one of its outputs");
  const int64_t n = shape.back(), rows = Product(shape, 0, *axis), k = call.outputs[0]->shape.back();
  return OnnxMapped{
      {"top_k",
       {*call.inputs[0]->dtype},
       {{"rows", N(rows)}, {"k", N(k)}, {"n", N(n)}, {"smallest", call.Int("largest", 1) != 0 ? "0" : "1"}}},
      {{"x", 0, {rows, n}}},
      {{"values", 0, {rows, k}}, {"indices", 1, {rows, k}}}};
}

OnnxResult MapGather(const OnnxCall& call) {
  const Shape &table = call.inputs[0]->shape, &places = call.inputs[1]->shape;
  if (call.Int("axis", 0) != 0) return UsageError("another axis than the first");
  if (table.size() < 2) return UsageError("a table of single elements");
  for (const int64_t place : IntegersOf(*call.inputs[1])) {
    if (place < 0) return UsageError("places that count from the end");
  }
  const int64_t n = Product(places, 0, places.size()), d = Product(table, 1, table.size());
  return OnnxMapped{{"gather",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"v", N(table[0])}, {"n", N(n)}, {"d", N(d)}}},
                    {{"table", 0, {table[0], d}}, {"indices", 1, {n}}},
                    {{"y", 0, {n, d}}}};
}

// The mask as attributes and operand.
Status AddMask(const OnnxCall& call, OnnxMapped& mapped) {
  const OnnxTensor* mask = call.Input(3);
  if (mask == nullptr) return {};
  const Shape &q = call.inputs[0]->shape, &k = call.inputs[1]->shape;
  const Shape plain = {q[2], k[2]}, per_head = {q[0], q[1], q[2], k[2]};
  const bool is_plain = mask->data.size() == q[2] * k[2] && mask->shape.size() >= 2 && mask->shape.back() == k[2];
  if (!is_plain && mask->shape != per_head) return UsageError("a mask that is repeated over heads or the batch");
  mapped.spec.attrs.emplace_back("mask", mask->is_bool ? "bool" : "add");
  if (!is_plain) mapped.spec.attrs.emplace_back("mask_per_head", "1");
  mapped.inputs.push_back({"mask", 3, is_plain ? plain : per_head});
  return {};
}

OnnxResult MapOnnxAttention(const OnnxCall& call) {
  const Shape &q = call.inputs[0]->shape, &k = call.inputs[1]->shape;
  if (call.Input(2) == nullptr) return UsageError("it lacks one of its inputs");
  const Shape& v = call.inputs[2]->shape;
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return UsageError("heads side by side in one axis");
  if (call.Input(4) != nullptr || call.Input(5) != nullptr) return UsageError("past keys and values");
  if (call.Input(6) != nullptr) return UsageError("lengths of the keys of each of the batch");
  for (size_t i = 1; i < call.outputs.size(); ++i) {
    if (call.outputs[i] != nullptr) return UsageError("further outputs: present keys and values, or scores");
  }
  OnnxMapped mapped{{"attention",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.inputs[2]->dtype, *call.outputs[0]->dtype},
                     {{"b", N(q[0])},
                      {"h", N(q[1])},
                      {"hkv", N(k[1])},
                      {"l", N(q[2])},
                      {"s", N(k[2])},
                      {"d", N(q[3])},
                      {"dv", N(v[3])}}},
                    {{"q", 0, q}, {"k", 1, k}, {"v", 2, v}},
                    {{"o", 0, call.outputs[0]->shape}}};
  AttrList& attrs = mapped.spec.attrs;
  if (call.Int("is_causal", 0) != 0) attrs.insert(attrs.end(), {{"causal", "1"}, {"align", "tl"}});
  if (call.Find("scale") != nullptr) attrs.emplace_back("scale", fmt::format("{}", call.Find("scale")->real));
  attrs.emplace_back("softcap", fmt::format("{}", call.Real("softcap", 0)));
  if (auto mask = AddMask(call, mapped); !mask) return tl::unexpected(mask.error());
  return mapped;
}

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
      {"Gelu",
       {"approximate",
        [](Call call) {
          return MapElementwise(call, "gelu", {{"approx", call.Text("approximate", "none")}});
        }}},
      {"CumSum", {"exclusive reverse", MapOnnxCumSum}},
      {"TopK", {"axis largest sorted", MapOnnxTopK}},
      {"Gather", {"axis", MapGather}},
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

// Those that every map may rely on: the first operands are there, and all are of types that there are here.
Status CheckTensors(const OnnxCall& call) {
  constexpr std::string_view kOfOne[] = {"Softmax", "LogSoftmax", "ArgMax", "ArgMin", "Exp",
                                         "Log",     "Tanh",       "Erf",    "Gelu"};
  const std::string& op = call.node.op;
  const bool one = std::ranges::find(kOfOne, op) != std::end(kOfOne) || op.starts_with("Reduce");
  if (call.Input(0) == nullptr || call.outputs.empty() || call.outputs[0] == nullptr ||
      (!one && call.Input(1) == nullptr)) {
    return UsageError("it lacks one of its tensors");
  }
  for (const auto* list : {&call.inputs, &call.outputs}) {
    for (const OnnxTensor* tensor : *list) {
      if (tensor == nullptr) continue;
      if (!tensor->dtype) return UsageError("types that are none here");
      const bool may_be_empty = tensor == call.Input(1) && op.starts_with("Reduce");  // the list of axes
      if (tensor->data.size() == 0 && !may_be_empty) return UsageError("a tensor without elements");
      if (tensor->is_bool && op != "Attention") return UsageError("types that are none here");
    }
  }
  return {};
}

}  // namespace

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
