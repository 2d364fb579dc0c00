// SPDX-License-Identifier: Apache-2.0
// quantize, dequantize and requantize between floating-point numbers and codes of a byte.
#include <array>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

// Layout as in shaders/codes.glsl.
struct CodeParams {
  uint32_t count, n;
  int32_t zero, low;
  std::array<uint32_t, 4> x_and_y, scale_and_zero;
};

bool IsByte(plugin::DType dtype) {
  return dtype == plugin::kI8 || dtype == plugin::kU8;
}

Recipe CodeRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &scale = op.inputs()[1], &zero = op.inputs().back(), &y = op.outputs()[0];
  const bool has_zero = op.inputs().size() > 2, dequantizes = op.name() == "dequantize";
  const plugin::RowSteps of_x = op.StepsOf(x), of_y = op.StepsOf(y), of_scale = op.StepsOf(scale);
  const plugin::RowSteps of_zero = op.StepsOf(zero);
  const auto pairs = [](const plugin::RowSteps& a, const plugin::RowSteps& b) {
    return std::array{static_cast<uint32_t>(a.row), static_cast<uint32_t>(a.element), static_cast<uint32_t>(b.row),
                      static_cast<uint32_t>(b.element)};
  };
  const CodeParams p{.count = static_cast<uint32_t>(x.Elements()),
                     .n = static_cast<uint32_t>(x.shape[1]),
                     .zero = dequantizes ? 0 : static_cast<int32_t>(op.AttrInt("zero")),
                     .low = y.dtype == plugin::kI8 ? -128 : 0,
                     .x_and_y = pairs(of_x, of_y),
                     .scale_and_zero = pairs(of_scale, of_zero)};
  const uint32_t lanes = LanesFor(facts, x.Elements()), multiplies = op.name() == "requantize" ? 1 : 0;
  KernelSpec kernel{dequantizes ? "dequantize" : "quantize", VariantFor(op),
                    Constants(lanes, {x.dtype, scale.dtype, zero.dtype, y.dtype}, {multiplies, has_zero ? 1U : 0U})};
  const int last = static_cast<int>(op.inputs().size()) - 1;
  return {{{std::move(kernel), BytesOf(p), {In(0), In(1), In(last), Out()}, CeilDiv(x.Elements(), lanes)}}, {}};
}

std::string CodeWhyNot(const Facts&, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n", "saturate"});
  const plugin::DType from = op.inputs()[0].dtype, to = op.outputs()[0].dtype;
  op.AttrString("per");
  if (op.name() != "dequantize") op.AttrInt("zero");
  if (op.inputs()[1].dtype != plugin::kF32) return "scales are of f32";
  if (op.name() == "dequantize" ? !IsByte(from) || !plugin::IsFloat(to) || to == plugin::kF64 : !IsByte(to)) {
    return op.DTypesText() + " is not among the types of the kernels";
  }
  const int64_t elements = op.outputs()[0].Elements();
  return elements == 0 || elements > UINT32_MAX ? fmt::format("{} elements", elements) : "";
}

std::string CodeContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {op.name() == "quantize" ? kDivisionUlp : 0, ""});
}

constexpr plugin::DType kCodeTypes[] = {plugin::kI8, plugin::kU8};
constexpr plugin::DType kSumTypes[] = {plugin::kF32, plugin::kI8, plugin::kU8, plugin::kI32};

constexpr Row kCodeRows[] = {
    {{"dequantize", kCodeTypes, "element"}, CodeContract, CodeWhyNot, CodeRecipe},
    {{"quantize", plugin::kNarrowTypes, "element"}, CodeContract, CodeWhyNot, CodeRecipe},
    {{"requantize", kSumTypes, "element"}, CodeContract, CodeWhyNot, CodeRecipe},
};

}  // namespace

std::span<const Row> CodeRows() {
  return kCodeRows;
}

}  // namespace vulkan
