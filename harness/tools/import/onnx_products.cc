// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/tools/import/extents.h"
#include "harness/tools/import/onnx_maps.h"

namespace assay {

// Batches of both operands that are equal, or rows of a that all meet one b.
OnnxResult MapOnnxMatMul(const OnnxCall& call) {
  const Shape &a = call.inputs[0]->shape, &b = call.inputs[1]->shape;
  const size_t ra = a.size(), rb = b.size();
  if (ra < 2 || rb < 2) return UsageError("a vector as an operand of a product");
  const int64_t k = a[ra - 1], n = b[rb - 1], batch_a = OnnxProduct(a, 0, ra - 2), batch_b = OnnxProduct(b, 0, rb - 2);
  const bool equal = ra == rb && std::equal(a.begin(), a.end() - 2, b.begin());
  if (!equal && batch_b != 1) return UsageError("operands are repeated over the batch");
  const int64_t batch = equal ? batch_a : 1, m = a[ra - 2] * (equal ? 1 : batch_a);
  const auto shape = [&](int64_t rows, int64_t columns) {
    return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
  };
  return OnnxMapped{{"matmul",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.outputs[0]->dtype},
                     {{"m", std::to_string(m)},
                      {"n", std::to_string(n)},
                      {"k", std::to_string(k)},
                      {"batch", std::to_string(batch)}}},
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
                     {{"m", std::to_string(m)},
                      {"n", std::to_string(n)},
                      {"k", std::to_string(k)},
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

namespace {

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

}  // namespace

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
                     {{"n", std::to_string(x[0])},
                      {"c", std::to_string(x[1])},
                      {"o", std::to_string(w[0])},
                      {"i", DimsText(i)},
                      {"k", DimsText(k)},
                      {"stride", DimsText(*stride)},
                      {"pad", DimsText(*pad)},
                      {"dilation", DimsText(*dilation)},
                      {"groups", std::to_string(call.Int("group", 1))},
                      {"bias", call.Input(2) != nullptr ? "1" : "0"}}},
                    {{"x", 0, x}, {"w", 1, w}},
                    {{"y", 0, call.outputs[0]->shape}}};
  if (call.Input(2) != nullptr) mapped.inputs.push_back({"bias", 2, {w[0]}});
  return mapped;
}

namespace {

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

}  // namespace

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
                     {{"b", std::to_string(q[0])},
                      {"h", std::to_string(q[1])},
                      {"hkv", std::to_string(k[1])},
                      {"l", std::to_string(q[2])},
                      {"s", std::to_string(k[2])},
                      {"d", std::to_string(q[3])},
                      {"dv", std::to_string(v[3])}}},
                    {{"q", 0, q}, {"k", 1, k}, {"v", 2, v}},
                    {{"o", 0, call.outputs[0]->shape}}};
  AttrList& attrs = mapped.spec.attrs;
  if (call.Int("is_causal", 0) != 0) attrs.insert(attrs.end(), {{"causal", "1"}, {"align", "tl"}});
  if (call.Find("scale") != nullptr) attrs.emplace_back("scale", fmt::format("{}", call.Find("scale")->real));
  attrs.emplace_back("softcap", fmt::format("{}", call.Real("softcap", 0)));
  if (auto mask = AddMask(call, mapped); !mask) return tl::unexpected(mask.error());
  return mapped;
}

}  // namespace assay
