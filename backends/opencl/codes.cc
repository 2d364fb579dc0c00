// SPDX-License-Identifier: Apache-2.0
// quantize, dequantize and requantize between floating-point numbers and bytes, an item per element.
#include <fmt/format.h>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

constexpr int64_t kCodeGroup = 64;

// Must match the layout in kernels/codes.cl. Steps of the scale and of the code of zero are 0 where all share one.
struct CodeParams {
  int64_t rows, n, x_row, x_step, y_row, y_step, scale_row, scale_step, zero_row, zero_step, zero, low, high;
};

struct CodeSteps {
  int64_t row = 0, step = 0;
};

CodeSteps StepsPer(const std::string& per, const plugin::Tensor& tensor) {
  if (tensor.Rank() == 0) return {};
  return per == "row" ? CodeSteps{tensor.strides[0], 0} : CodeSteps{0, tensor.strides[0]};
}

bool IsByte(plugin::DType dtype) {
  return dtype == plugin::kI8 || dtype == plugin::kU8;
}

const char* KernelOf(const plugin::OpDesc& op) {
  return op.name() == "quantize" ? "quantize" : op.name() == "dequantize" ? "dequantize" : "requantize";
}

std::unique_ptr<plugin::Plan> CreateCodes(Device& device, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &scale = op.inputs()[1], &zero = op.inputs().back(), &y = op.outputs()[0];
  const std::string& per = op.AttrString("per");
  const bool has_zero = op.inputs().size() > 2, is_u8 = y.dtype == plugin::kU8;
  const CodeSteps of_scale = StepsPer(per, scale), of_zero = has_zero ? StepsPer(per, zero) : CodeSteps{};
  const CodeParams p{.rows = x.shape[0],
                     .n = x.shape[1],
                     .x_row = x.strides[0],
                     .x_step = x.strides[1],
                     .y_row = y.strides[0],
                     .y_step = y.strides[1],
                     .scale_row = of_scale.row,
                     .scale_step = of_scale.step,
                     .zero_row = of_zero.row,
                     .zero_step = of_zero.step,
                     .zero = op.name() == "dequantize" ? 0 : op.AttrInt("zero"),
                     .low = is_u8 ? 0 : -128,
                     .high = is_u8 ? 255 : 127};
  ProgramSpec program{{"codes.cl"}, Accumulator::kF32, {}};
  program.options.Type("X", x.dtype).Type("Z", zero.dtype).Type("Y", y.dtype).Define("HAS_ZERO", has_zero ? 1 : 0);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, KernelOf(op),
               {plan->Input(0), plan->Input(1), plan->Input(static_cast<int>(op.inputs().size()) - 1), plan->Output()},
               p, RowOfGroups((p.rows * p.n + kCodeGroup - 1) / kCodeGroup, kCodeGroup));
  return plan;
}

std::string CodesWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n", "saturate"});
  const plugin::DType from = op.inputs()[0].dtype, to = op.outputs()[0].dtype;
  if (op.inputs()[1].dtype != plugin::kF32) return "scales are of f32";
  if (op.name() == "dequantize" ? !IsByte(from) || !plugin::IsFloat(to) : !IsByte(to)) {
    return op.DTypesText() + " is not among the types of the kernels";
  }
  if (op.name() != "dequantize") op.AttrInt("zero");
  op.AttrString("per");
  return op.outputs()[0].Elements() == 0 ? "no element" : OperandsWhyNot(traits, op);
}

std::string CodesContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(traits, Accumulator::kF32, op.name() == "quantize" ? Math::kDivide : Math::kNone);
}

constexpr plugin::DType kCodeTypes[] = {plugin::kI8, plugin::kU8};
constexpr plugin::DType kSumTypes[] = {plugin::kF32, plugin::kI8, plugin::kU8, plugin::kI32};

constexpr Row kCodeRows[] = {
    {{"dequantize", kCodeTypes, "item-per-element"}, CodesContract, CodesWhyNot, CreateCodes},
    {{"quantize", plugin::kNarrowTypes, "item-per-element"}, CodesContract, CodesWhyNot, CreateCodes},
    {{"requantize", kSumTypes, "item-per-element"}, CodesContract, CodesWhyNot, CreateCodes},
};

}  // namespace

std::span<const Row> CodeRows() {
  return kCodeRows;
}

}  // namespace opencl
