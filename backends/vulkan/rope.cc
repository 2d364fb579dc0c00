// SPDX-License-Identifier: Apache-2.0
// rope and its gradient, which turns the pairs back.
#include <array>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using RopeSteps = std::array<uint32_t, 4>;

// Layout as in shaders/rope.comp.
struct RopeParams {
  uint32_t l, h, half_d, pairs;
  RopeSteps x_step, y_step, table_step;
};

uint32_t StepAt(const plugin::Tensor& tensor, size_t axis) {
  return static_cast<uint32_t>(tensor.strides[axis]);
}

RopeSteps StepsOfFour(const plugin::Tensor& tensor) {
  return {StepAt(tensor, 0), StepAt(tensor, 1), StepAt(tensor, 2), StepAt(tensor, 3)};
}

Recipe RopeRecipe(const Facts&, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &cosines = op.inputs()[1], &sines = op.inputs()[2], &y = op.outputs()[0];
  const RopeParams p{.l = static_cast<uint32_t>(x.shape[1]),
                     .h = static_cast<uint32_t>(x.shape[2]),
                     .half_d = static_cast<uint32_t>(x.shape[3] / 2),
                     .pairs = static_cast<uint32_t>(x.Elements() / 2),
                     .x_step = StepsOfFour(x),
                     .y_step = StepsOfFour(y),
                     .table_step = {StepAt(cosines, 0), StepAt(cosines, 1), StepAt(sines, 0), StepAt(sines, 1)}};
  const uint32_t back = op.name() == "rope_backward" ? 1 : 0;
  KernelSpec kernel{"rope", VariantFor(op),
                    Constants(kElementLanes, {x.dtype, cosines.dtype, sines.dtype, y.dtype}, {back})};
  return {{{std::move(kernel), BytesOf(p), {In(0), In(1), In(2), Out()}, CeilDiv(p.pairs, kElementLanes)}}, {}};
}

std::string RopeWhyNot(const Facts&, const plugin::OpDesc& op) {
  op.MayIgnore({"b", "l", "h", "d"});
  const int64_t elements = op.outputs()[0].Elements();
  if (elements == 0 || elements > UINT32_MAX) return fmt::format("{} elements", elements);
  return FloatTypesWhyNot(op);
}

std::string RopeContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {});
}

constexpr Row kRopeRows[] = {
    {{"rope", plugin::kRealTypes, "pair"}, RopeContract, RopeWhyNot, RopeRecipe},
    {{"rope_backward", plugin::kRealTypes, "pair"}, RopeContract, RopeWhyNot, RopeRecipe},
};

}  // namespace

std::span<const Row> RopeRows() {
  return kRopeRows;
}

}  // namespace vulkan
