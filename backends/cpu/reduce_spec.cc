// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/reduce_spec.h"

#include <fmt/format.h>

#include <utility>

#include "backends/common/status.h"

namespace cpu {
namespace {

constexpr std::pair<const char*, ReduceKind> kKinds[] = {
    {"sum", ReduceKind::kSum},       {"mean", ReduceKind::kMean},     {"max", ReduceKind::kMax},
    {"min", ReduceKind::kMin},       {"prod", ReduceKind::kProd},     {"l2", ReduceKind::kL2},
    {"argmax", ReduceKind::kArgMax}, {"argmin", ReduceKind::kArgMin}, {"logsumexp", ReduceKind::kLogSumExp}};

ReduceKind ParseKind(const std::string& text) {
  for (const auto& [name, kind] : kKinds) {
    if (text == name) return kind;
  }
  throw plugin::Failure("reduce: unknown kind '{}'", text);
}

std::vector<bool> ReducedMask(const plugin::OpDesc& op, int rank) {
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  for (int64_t axis : op.AttrList("axes")) {
    const int64_t index = axis < 0 ? axis + rank : axis;
    if (index < 0 || index >= rank) throw plugin::Failure("reduce: axis {} of an operand of rank {}", axis, rank);
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

bool IsNanAware(ReduceKind kind) {
  return kind == ReduceKind::kMax || kind == ReduceKind::kMin || kind == ReduceKind::kArgMax ||
         kind == ReduceKind::kArgMin;
}

}  // namespace

ReduceSpec ParseReduce(const plugin::OpDesc& op) {
  if (op.inputs().size() != 1 || op.outputs().size() != 1) throw plugin::Failure("reduce: not one input, one output");
  const plugin::Tensor& x = op.inputs()[0];
  const plugin::Tensor& y = op.outputs()[0];
  const bool keepdims = op.AttrInt("keepdims") != 0;
  ReduceSpec spec;
  spec.kind = ParseKind(op.AttrString("kind"));
  spec.ignore_nan = op.AttrString("nan") == "ignore";
  spec.in = x.dtype, spec.out = y.dtype;
  const std::vector<bool> reduced = ReducedMask(op, x.Rank());
  std::vector<int64_t> expected;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (reduced[i]) {
      AppendReduced(spec.reduced, {x.shape[i], x.strides[i], 0});
      spec.count *= x.shape[i];
      if (keepdims) expected.push_back(1);
      continue;
    }
    // The output may have fewer axes than the input; its own check follows below.
    const size_t out_axis = expected.size();
    spec.kept.push_back({x.shape[i], x.strides[i], out_axis < y.strides.size() ? y.strides[out_axis] : 0});
    spec.outputs *= x.shape[i];
    expected.push_back(x.shape[i]);
  }
  if (y.shape != expected) {
    throw plugin::Failure("reduce: output '{}' has shape {}, but the attributes imply {}", y.name,
                          plugin::ShapeText(y.shape), plugin::ShapeText(expected));
  }
  return spec;
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

std::string ReduceWhyNot(const plugin::OpDesc& op) {
  const ReduceSpec spec = ParseReduce(op);
  if (spec.reduced.empty()) return "reduce without axes";
  if (spec.count == 0 || spec.outputs == 0) return "reduce of an empty extent has no defined value for every kind";
  if (!plugin::IsFloat(spec.in) || !(spec.IsArg() ? spec.out == plugin::kI64 : plugin::IsFloat(spec.out))) {
    return fmt::format("reduce computes f64, f32, f16, bf16 (argmax and argmin to i64), not {}", op.DTypesText());
  }
  if (spec.ignore_nan && !IsNanAware(spec.kind)) return "nan=ignore is offered for max, min, argmax and argmin only";
  return "";
}

std::string FoldWhyNot(const plugin::OpDesc& op) {
  if (ParseReduce(op).IsArg()) return "argmax and argmin are a scan in index order: use sequential";
  return ReduceWhyNot(op);
}

std::string ReduceContract(const plugin::OpDesc& op) {
  const ReduceSpec spec = ParseReduce(op);
  const bool has_function = spec.kind == ReduceKind::kMean || spec.kind == ReduceKind::kL2 ||
                            spec.kind == ReduceKind::kLogSumExp;  // division, sqrt, exp and log of glibc: under 1 ulp
  return fmt::format("{};{}{}det=yes;batchinv=yes", spec.IsF64() ? "f64" : "f32acc", has_function ? "math=1;" : "",
                     spec.ignore_nan ? "nan=ignore;" : "");
}

}  // namespace cpu
