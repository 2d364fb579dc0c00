// SPDX-License-Identifier: Apache-2.0
// rope and its gradient, which turns the pairs back; an item per pair.
#include <fmt/format.h>

#include <array>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

constexpr int64_t kRopeGroup = 64;

// Must match the layout in kernels/rope.cl. x and y are [b,l,h,d], the tables [l,d/2].
struct RopeParams {
  int64_t l, h, half, pairs, back;
  std::array<int64_t, 4> x_step{}, y_step{};
  std::array<int64_t, 2> cos_step{}, sin_step{};
};

std::unique_ptr<plugin::Plan> CreateRope(Device& device, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &cos = op.inputs()[1], &sin = op.inputs()[2], &y = op.outputs()[0];
  RopeParams p{x.shape[1], x.shape[2], x.shape[3] / 2, x.Elements() / 2, op.name() == "rope_backward"};
  for (size_t axis = 0; axis < 4; ++axis) p.x_step[axis] = x.strides[axis], p.y_step[axis] = y.strides[axis];
  for (size_t axis = 0; axis < 2; ++axis) p.cos_step[axis] = cos.strides[axis], p.sin_step[axis] = sin.strides[axis];
  ProgramSpec program{{"rope.cl"}, AccumulatorOf(op), {}};
  program.options.Type("X", x.dtype).Type("T", cos.dtype).Type("Y", y.dtype);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "turn", {plan->Input(0), plan->Input(1), plan->Input(2), plan->Output()}, p,
               RowOfGroups((p.pairs + kRopeGroup - 1) / kRopeGroup, kRopeGroup));
  return plan;
}

std::string RopeWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"b", "l", "h", "d"});
  if (op.inputs()[1].dtype != op.inputs()[2].dtype) return op.DTypesText() + ": tables of one type are taken";
  if (!op.AllTypes(plugin::IsFloat)) return op.DTypesText() + " is not among the types of the kernels";
  return op.outputs()[0].Elements() == 0 ? "no element" : OperandsWhyNot(traits, op);
}

std::string RopeContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(traits, AccumulatorOf(op), Math::kNone);
}

constexpr Row kRopeRows[] = {
    {{"rope", plugin::kRealTypes, "item-per-pair"}, RopeContract, RopeWhyNot, CreateRope},
    {{"rope_backward", plugin::kRealTypes, "item-per-pair"}, RopeContract, RopeWhyNot, CreateRope},
};

}  // namespace

std::span<const Row> RopeRows() {
  return kRopeRows;
}

}  // namespace opencl
