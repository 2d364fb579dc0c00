// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <numeric>

#include "harness/tools/import/extents.h"
#include "harness/tools/import/onnx_maps.h"

namespace assay {

OnnxResult MapOnnxSoftmax(const OnnxCall& call, bool log) {
  constexpr int64_t kPerAxis = 13;  // the opset from which on one axis sums to one; before, all from that axis on
  Shape shape = call.inputs[0]->shape;
  const auto axis = OnnxAxis(call.Int("axis", call.opset < kPerAxis ? 1 : -1), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (call.opset < kPerAxis) shape = {OnnxProduct(shape, 0, *axis), OnnxProduct(shape, *axis, shape.size())};
  const std::string ours = std::to_string(call.opset < kPerAxis ? 1 : static_cast<int64_t>(*axis));
  return OnnxMapped{
      {"softmax", {*call.inputs[0]->dtype}, {{"shape", DimsText(shape)}, {"axis", ours}, {"log", log ? "1" : "0"}}},
      {{"x", 0, shape}},
      {{"y", 0, shape}}};
}

namespace {

// The axes to reduce: an attribute, or an input in later opsets; without either, all.
Result<std::string> FindReducedAxes(const OnnxCall& call) {
  const size_t rank = call.inputs[0]->shape.size();
  std::vector<int64_t> axes = call.Ints("axes");
  if (call.Input(1) != nullptr) axes = OnnxIntegers(*call.Input(1));
  if (axes.empty()) {
    if (call.Int("noop_with_empty_axes", 0) != 0) return UsageError("no axis is reduced");
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::string text;
  for (const int64_t axis : axes) {
    const auto own = OnnxAxis(axis, rank);
    if (!own) return tl::unexpected(own.error());
    text += fmt::format("{}{}", text.empty() ? "" : "+", *own);
  }
  return text;
}

}  // namespace

OnnxResult MapOnnxReduce(const OnnxCall& call, const char* kind) {
  const Shape& shape = call.inputs[0]->shape;
  if (shape.empty()) return UsageError("a scalar, where operators here have axes");
  const auto axes = FindReducedAxes(call);
  if (!axes) return tl::unexpected(axes.error());
  return OnnxMapped{{"reduce",
                     {*call.inputs[0]->dtype, *call.outputs[0]->dtype},
                     {{"shape", DimsText(shape)},
                      {"axes", *axes},
                      {"kind", kind},
                      {"keepdims", std::to_string(call.Int("keepdims", 1))}},
                     std::string_view(kind) == "prod" ? "near_one" : "normal"},
                    {{"x", 0, shape}},
                    {{"y", 0, call.outputs[0]->shape}}};
}

OnnxResult MapArg(const OnnxCall& call, const char* kind) {
  const Shape& shape = call.inputs[0]->shape;
  if (call.Int("select_last_index", 0) != 0) return UsageError("of equal elements the last one is taken");
  const auto axis = OnnxAxis(call.Int("axis", 0), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  return OnnxMapped{{"reduce",
                     {*call.inputs[0]->dtype, DType::kI64},
                     {{"shape", DimsText(shape)},
                      {"axes", std::to_string(*axis)},
                      {"kind", kind},
                      {"keepdims", std::to_string(call.Int("keepdims", 1))}}},
                    {{"x", 0, shape}},
                    {{"y", 0, call.outputs[0]->shape}}};
}

namespace {

struct RowsShape {
  int64_t rows, n;
};

Result<RowsShape> RowsFrom(const OnnxCall& call, int64_t axis) {
  const Shape& shape = call.inputs[0]->shape;
  const auto own = OnnxAxis(axis, shape.size());
  if (!own) return tl::unexpected(own.error());
  return RowsShape{OnnxProduct(shape, 0, *own), OnnxProduct(shape, *own, shape.size())};
}

std::string EpsilonOf(const OnnxCall& call) {
  const auto* epsilon = call.Find("epsilon");
  return epsilon == nullptr ? "1e-05" : fmt::format("{}", epsilon->real);
}

}  // namespace

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
                     {{"rows", std::to_string(rows)}, {"n", std::to_string(n)}, {"eps", EpsilonOf(call)}}},
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
                     {{"rows", std::to_string(rows)}, {"n", std::to_string(n)}, {"eps", EpsilonOf(call)}}},
                    {{"x", 0, {rows, n}}, {"gamma", 1, {n}}},
                    {{"y", 0, {rows, n}}}};
}

OnnxResult MapOnnxGroupNorm(const OnnxCall& call, bool each_channel) {
  const Shape& x = call.inputs[0]->shape;
  if (x.size() < 3 || call.Input(2) == nullptr) return UsageError("the shapes of a norm do not fit each other");
  const int64_t groups = each_channel ? x[1] : call.Int("num_groups", 0), n = OnnxProduct(x, 2, x.size());
  if (groups < 1 || x[1] % groups != 0) return UsageError("the groups do not divide the channels");
  for (size_t i : {1, 2}) {
    if (call.inputs[i]->data.size() != x[1])
      return UsageError("scale and shift of each group, where here each channel has them");
  }
  const Shape of_channels = {groups, x[1] / groups}, all = {x[0], groups, x[1] / groups, n};
  return OnnxMapped{{"group_norm",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.inputs[2]->dtype, *call.outputs[0]->dtype},
                     {{"b", std::to_string(x[0])},
                      {"g", std::to_string(groups)},
                      {"c", std::to_string(of_channels[1])},
                      {"n", std::to_string(n)},
                      {"eps", EpsilonOf(call)}}},
                    {{"x", 0, all}, {"gamma", 1, of_channels}, {"beta", 2, of_channels}},
                    {{"y", 0, all}}};
}

OnnxResult MapElementwise(const OnnxCall& call, const char* op, AttrList more) {
  const int64_t n = call.inputs[0]->data.size();
  more.insert(more.begin(), {"n", std::to_string(n)});
  return OnnxMapped{{op, {*call.inputs[0]->dtype, *call.outputs[0]->dtype}, more}, {{"x", 0, {n}}}, {{"y", 0, {n}}}};
}

OnnxResult MapOnnxCumSum(const OnnxCall& call) {
  const Shape& shape = call.inputs[0]->shape;
  if (call.Int("exclusive", 0) != 0 || call.Int("reverse", 0) != 0)
    return UsageError("sums without the element, or from the end");
  const std::vector<int64_t> stated = OnnxIntegers(*call.inputs[1]);
  const auto axis = OnnxAxis(stated.empty() ? 0 : stated[0], shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (*axis + 1 != shape.size()) return UsageError("another axis than the last");
  const int64_t n = shape.back(), rows = OnnxProduct(shape, 0, *axis);
  return OnnxMapped{{"cumsum", {*call.inputs[0]->dtype}, {{"rows", std::to_string(rows)}, {"n", std::to_string(n)}}},
                    {{"x", 0, {rows, n}}},
                    {{"y", 0, {rows, n}}}};
}

OnnxResult MapOnnxTopK(const OnnxCall& call) {
  const Shape& shape = call.inputs[0]->shape;
  const auto axis = OnnxAxis(call.Int("axis", -1), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (*axis + 1 != shape.size()) return UsageError("another axis than the last");
  if (call.Int("sorted", 1) == 0) return UsageError("results in any order");
  if (call.outputs.size() != 2 || call.outputs[0]->shape.size() != shape.size()) {
    return UsageError("it lacks one of its outputs");
  }
  const int64_t n = shape.back(), rows = OnnxProduct(shape, 0, *axis), k = call.outputs[0]->shape.back();
  return OnnxMapped{{"top_k",
                     {*call.inputs[0]->dtype},
                     {{"rows", std::to_string(rows)},
                      {"k", std::to_string(k)},
                      {"n", std::to_string(n)},
                      {"smallest", call.Int("largest", 1) != 0 ? "0" : "1"}}},
                    {{"x", 0, {rows, n}}},
                    {{"values", 0, {rows, k}}, {"indices", 1, {rows, k}}}};
}

OnnxResult MapGather(const OnnxCall& call) {
  const Shape &table = call.inputs[0]->shape, &places = call.inputs[1]->shape;
  if (call.Int("axis", 0) != 0) return UsageError("another axis than the first");
  if (table.size() < 2) return UsageError("a table of single elements");
  for (const int64_t place : OnnxIntegers(*call.inputs[1])) {
    if (place < 0) return UsageError("places that count from the end");
  }
  const int64_t n = OnnxProduct(places, 0, places.size()), d = OnnxProduct(table, 1, table.size());
  return OnnxMapped{{"gather",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"v", std::to_string(table[0])}, {"n", std::to_string(n)}, {"d", std::to_string(d)}}},
                    {{"table", 0, {table[0], d}}, {"indices", 1, {n}}},
                    {{"y", 0, {n, d}}}};
}

}  // namespace assay
