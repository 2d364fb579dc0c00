// SPDX-License-Identifier: Apache-2.0
// oneDNN's reorder: operands in another type or another order of axes, and codes of 8 bits, made or read, whose factors
// and code of zero it gets when it is executed. Beside it concat.

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"
#include "backends/onednn/zero_point.h"

namespace onednn {
namespace {

bool IsByte(plugin::DType dtype) {
  return dtype == plugin::kI8 || dtype == plugin::kU8;
}

bool IsStored(plugin::DType dtype) {
  return IsComputed(dtype) || IsByte(dtype) || dtype == plugin::kI32;
}

std::string ReorderContract(const plugin::OpDesc& op, const std::string&) {
  if (op.AllTypes(plugin::IsInteger) && op.name() != "requantize") return "acc=i32;det=yes";
  if (op.name() == "quantize") return "f32acc;math=2;det=yes";  // it multiplies by 1 / scale
  return op.outputs()[0].dtype == plugin::kBF16 ? "f32acc;det=yes;ftz=out" : "f32acc;det=yes";
}

[[noreturn]] void RefuseTypes(const plugin::OpDesc& op) {
  throw plugin::Unsupported("{} {} is not offered: oneDNN's reorder is of f32, bf16, i8, u8 and i32", op.name(),
                            op.DTypesText());
}

// From the first input to the first output.
Problem MakeReorder(const plugin::OpDesc& op, const dnnl::engine& engine, const Md& x,
                    const dnnl::primitive_attr& attributes = StrictAttributes()) {
  const Md y = MdOf(op.outputs()[0]);
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these attributes and strides", [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_FROM, false, 0, x}, {DNNL_ARG_TO, true, 0, y}};
    problem.descriptor = SoleDescriptor(dnnl::reorder::primitive_desc(engine, x, engine, y, attributes));
    return problem;
  });
}

Problem CastProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"n"});
  const plugin::DType from = op.inputs()[0].dtype, to = op.outputs()[0].dtype;
  if (!IsStored(from) || !IsStored(to)) RefuseTypes(op);
  if (!IsComputed(to)) {
    throw plugin::Unsupported("casts to integers are not offered: oneDNN's reorder saturates where cast wraps around");
  }
  return MakeReorder(op, engine, MdOf(op.inputs()[0]));
}

Problem TransposeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"a", "b", "c"});
  if (!op.AllTypes(IsStored)) RefuseTypes(op);
  plugin::Tensor x = op.inputs()[0];
  const std::string& order = op.AttrString("perm");
  for (size_t axis = 0; axis < order.size(); ++axis) {
    const auto from = static_cast<size_t>(order[axis] - '0');
    x.shape[axis] = op.inputs()[0].shape[from];
    x.strides[axis] = op.inputs()[0].strides[from];
  }
  return MakeReorder(op, engine, MdOf(x));
}

Problem ConcatProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"rows", "n", "m"});
  if (!op.AllTypes(IsStored)) RefuseTypes(op);
  const int axis = op.AttrString("axis") == "0" ? 0 : 1;
  return OrUnsupported("concat " + op.DTypesText() + " with these strides", [&] {
    const Md x = MdOf(op.inputs()[0]), y = MdOf(op.inputs()[1]), z = MdOf(op.outputs()[0]);
    Problem problem;
    problem.operands = {
        {DNNL_ARG_MULTIPLE_SRC, false, 0, x}, {DNNL_ARG_MULTIPLE_SRC + 1, false, 1, y}, {DNNL_ARG_DST, true, 0, z}};
    problem.descriptor = ConcatDescriptor(engine, z, axis, {x, y}, StrictAttributes());
    return problem;
  });
}

// quantize, requantize and dequantize. `coded`: the operand whose code of zero there is.
Problem MakeCoded(const plugin::OpDesc& op, const dnnl::engine& engine, int scaled, int coded) {
  op.MayIgnore({"rows", "n", "saturate"});
  const plugin::Tensor &x = op.inputs()[0], &scale = op.inputs()[1];
  if (!IsStored(x.dtype) || !IsStored(op.outputs()[0].dtype) || scale.dtype != plugin::kF32) RefuseTypes(op);
  const std::string& per = op.AttrString("per");
  const bool has_operand = op.inputs().size() > 2;
  const int64_t zero = coded == DNNL_ARG_TO ? op.AttrInt("zero") : 0;
  if (has_operand && per != "tensor")
    throw plugin::Unsupported("oneDNN has one code of zero for the whole of a tensor");
  if (!scale.IsDense()) throw plugin::Unsupported("oneDNN reads factors that lie one behind the other");
  dnnl::primitive_attr attributes = StrictAttributes();
  const Factors factors = AskForFactors(attributes, scaled, per == "row" ? 1 : per == "column" ? 2 : 0);
  if (has_operand || zero != 0) AskForZeroPoint(attributes, coded);
  Problem problem = MakeReorder(op, engine, MdOf(x), attributes);
  const Md of_factors({scale.Elements()}, dnnl::memory::data_type::f32, dnnl::memory::dims{1});
  problem.operands.push_back({factors.argument, false, 1, of_factors, factors.is_inverted ? Invert : nullptr});
  if (has_operand || zero != 0) {
    AddZeroPoint(problem, coded, has_operand ? std::optional(op.inputs()[2].dtype) : std::nullopt, 2, zero);
  }
  return problem;
}

Problem QuantizeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  if (!IsByte(op.outputs()[0].dtype)) RefuseTypes(op);
  return MakeCoded(op, engine, DNNL_ARG_TO, DNNL_ARG_TO);
}

Problem RequantizeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  return MakeCoded(op, engine, DNNL_ARG_FROM, DNNL_ARG_TO);
}

Problem DequantizeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  return MakeCoded(op, engine, DNNL_ARG_FROM, DNNL_ARG_FROM);
}

constexpr plugin::DType kStoredTypes[] = {plugin::kF32, plugin::kBF16, plugin::kI8, plugin::kU8, plugin::kI32};
constexpr plugin::DType kBytes[] = {plugin::kI8, plugin::kU8};

constexpr Row kReorderRows[] = {
    {{"cast", kStoredTypes, ""}, ReorderContract, Alone<CastProblem>},
    {{"concat", kStoredTypes, ""}, ReorderContract, Alone<ConcatProblem>},
    {{"dequantize", kBytes, ""}, ReorderContract, Alone<DequantizeProblem>},
    {{"quantize", kOneDnnTypes, ""}, ReorderContract, Alone<QuantizeProblem>},
    {{"requantize", kStoredTypes, ""}, ReorderContract, Alone<RequantizeProblem>},
    {{"transpose", kStoredTypes, ""}, ReorderContract, Alone<TransposeProblem>},
};

}  // namespace

std::span<const Row> ReorderRows() {
  return kReorderRows;
}

}  // namespace onednn
