// SPDX-License-Identifier: Apache-2.0
// softmax along any axis of operands with any strides, a work-group per row.
#include <fmt/format.h>

#include "backends/common/softmax_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

using plugin::SoftmaxSpec;

constexpr size_t kOtherAxes = 8;
constexpr int64_t kRowGroup = 64;

// Must match the layout in kernels/softmax.cl.
struct SoftmaxParams {
  int64_t rows, size, x_step, y_step, log, axes;
  int64_t axis_size[kOtherAxes], axis_x[kOtherAxes], axis_y[kOtherAxes];
};

std::unique_ptr<plugin::Plan> CreateSoftmax(Device& device, const plugin::OpDesc& op, const char* kernel) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  SoftmaxParams p{s.rows, s.axis.size, s.axis.x_stride, s.axis.y_stride, s.log, std::ssize(s.others), {}, {}, {}};
  for (size_t i = 0; i < s.others.size(); ++i) {
    p.axis_size[i] = s.others[i].size, p.axis_x[i] = s.others[i].x_stride, p.axis_y[i] = s.others[i].y_stride;
  }
  ProgramSpec program{{"group.cl", "softmax.cl"}, AccumulatorOf(op), {}};
  program.options.Type("X", s.dtype).Type("Y", s.dtype).Define("GROUP", kRowGroup);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, kernel, {plan->Input(0), plan->Output()}, p, RowOfGroups(s.rows, kRowGroup));
  return plan;
}

std::unique_ptr<plugin::Plan> CreateThreePass(Device& device, const plugin::OpDesc& op) {
  return CreateSoftmax(device, op, "three_pass");
}

std::unique_ptr<plugin::Plan> CreateOnline(Device& device, const plugin::OpDesc& op) {
  return CreateSoftmax(device, op, "online");
}

std::string SoftmaxWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  if (std::string reason = plugin::FloatSoftmaxWhyNot(s, op); !reason.empty()) return reason;
  if (s.others.size() > kOtherAxes) return fmt::format("more than {} axes", kOtherAxes + 1);
  return OperandsWhyNot(traits, op);
}

// A row of -inf alone gives NaN, as the formula does.
std::string SoftmaxContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(traits, AccumulatorOf(op), Math::kExpLog) + ";masked=nan";
}

constexpr Row kSoftmaxRows[] = {
    {{"softmax", plugin::kRealTypes, "three-pass"}, SoftmaxContract, SoftmaxWhyNot, CreateThreePass, true},
    {{"softmax", plugin::kRealTypes, "online"}, SoftmaxContract, SoftmaxWhyNot, CreateOnline, true},
};

}  // namespace

std::span<const Row> SoftmaxRows() {
  return kSoftmaxRows;
}

}  // namespace opencl
