// SPDX-License-Identifier: Apache-2.0
#include "backends/common/reduce_spec.h"

#include <utility>

#include "backends/common/status.h"

namespace plugin {
namespace {

constexpr std::pair<const char*, ReduceKind> kKinds[] = {
    {"sum", ReduceKind::kSum},       {"mean", ReduceKind::kMean},     {"max", ReduceKind::kMax},
    {"min", ReduceKind::kMin},       {"prod", ReduceKind::kProd},     {"l2", ReduceKind::kL2},
    {"argmax", ReduceKind::kArgMax}, {"argmin", ReduceKind::kArgMin}, {"logsumexp", ReduceKind::kLogSumExp}};

ReduceKind ParseKind(const std::string& text) {
  for (const auto& [name, kind] : kKinds) {
    if (text == name) return kind;
  }
  throw Failure("reduce: unknown kind '{}'", text);
}

std::vector<bool> ReducedMask(const OpDesc& op, int rank) {
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  for (int64_t axis : op.AttrList("axes")) {
    const int64_t index = axis < 0 ? axis + rank : axis;
    if (index < 0 || index >= rank) throw Failure("reduce: axis {} of an operand of rank {}", axis, rank);
    mask[static_cast<size_t>(index)] = true;
  }
  return mask;
}

void AppendReduced(std::vector<Axis>& axes, const Axis& axis) {
  if (axis.size == 1 && !axes.empty()) return;
  if (!axes.empty() && axes.back().in_stride == axis.size * axis.in_stride) {
    axes.back() = {axes.back().size * axis.size, axis.in_stride, 0};
  } else {
    axes.push_back(axis);
  }
}

}  // namespace

ReduceSpec ParseReduce(const OpDesc& op) {
  if (op.inputs().size() != 1 || op.outputs().size() != 1) throw Failure("reduce: not one input, one output");
  const Tensor& x = op.inputs()[0];
  const Tensor& y = op.outputs()[0];
  op.MayIgnore({"shape", "tie"});  // x has the shape; the first of equal values is also any of them
  const bool keepdims = op.AttrInt("keepdims") != 0;
  ReduceSpec spec;
  spec.kind = ParseKind(op.AttrString("kind"));
  spec.ignore_nan = op.AttrString("nan") == "ignore";
  spec.in = x.dtype, spec.out = y.dtype;
  spec.is_reduced = ReducedMask(op, x.Rank());
  spec.out_strides.assign(x.shape.size(), 0);
  std::vector<int64_t> expected;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (spec.is_reduced[i]) {
      AppendReduced(spec.reduced, {x.shape[i], x.strides[i], 0});
      spec.count *= x.shape[i];
      if (keepdims) expected.push_back(1);
      continue;
    }
    // The output may have fewer axes than the input; its own check follows below.
    const size_t out_axis = expected.size();
    spec.out_strides[i] = out_axis < y.strides.size() ? y.strides[out_axis] : 0;
    spec.kept.push_back({x.shape[i], x.strides[i], spec.out_strides[i]});
    spec.outputs *= x.shape[i];
    expected.push_back(x.shape[i]);
  }
  if (y.shape != expected) {
    throw Failure("reduce: output '{}' has shape {}, but the attributes imply {}", y.name, ShapeText(y.shape),
                  ShapeText(expected));
  }
  return spec;
}

std::string ReduceShapeWhyNot(const ReduceSpec& spec, size_t most_axes) {
  if (spec.reduced.empty()) return "reduce without axes";
  if (spec.kept.size() > most_axes || spec.reduced.size() > most_axes) {
    return fmt::format("more than {} kept or reduced axes", most_axes);
  }
  if (spec.count > 0 && spec.outputs > 0) return "";
  return "reduce of an empty extent has no defined value for every kind";
}

std::string NanPolicyWhyNot(const ReduceSpec& spec) {
  if (!spec.ignore_nan || spec.SelectsElement()) return "";
  return "nan=ignore is offered for max, min, argmax and argmin only";
}

Offsets OffsetsOf(const ReduceSpec& spec, int64_t index) {
  Offsets offsets;
  for (size_t i = spec.kept.size(); i-- > 0;) {
    const Axis& axis = spec.kept[i];
    offsets.in += index % axis.size * axis.in_stride;
    offsets.out += index % axis.size * axis.out_stride;
    index /= axis.size;
  }
  return offsets;
}

}  // namespace plugin
