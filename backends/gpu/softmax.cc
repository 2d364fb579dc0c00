// SPDX-License-Identifier: Apache-2.0
// softmax along any axis of operands with any strides, a block per row.
#include <fmt/format.h>

#include "backends/common/softmax_spec.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::SoftmaxSpec;

template <bool kOnline>
std::unique_ptr<plugin::Plan> CreateSoftmax(Device& device, const plugin::OpDesc& op) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  SoftmaxParams p;
  p.rows = s.rows, p.size = s.axis.size, p.x_step = s.axis.x_stride, p.y_step = s.axis.y_stride, p.log = s.log;
  p.axes = std::ssize(s.others);
  for (size_t i = 0; i < s.others.size(); ++i) {
    p.axis_size[i] = s.others[i].size, p.axis_x[i] = s.others[i].x_stride, p.axis_y[i] = s.others[i].y_stride;
  }
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add(kOnline ? "OnlineSoftmax" : "ThreePassSoftmax", [type = TagOf(s.dtype), p](const Bound& at) mutable {
    p.x = at.Input(0), p.y = at.Output();
    LaunchSoftmax(type, kOnline, p, at.stream());
  });
  return plan;
}

std::string SoftmaxWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  if (std::string reason = plugin::FloatSoftmaxWhyNot(s, op); !reason.empty()) return reason;
  if (s.others.size() > kMostAxes) return fmt::format("more than {} axes", kMostAxes + 1);
  return BlocksWhyNot(traits, static_cast<double>(s.rows), kReduceThreads);
}

// A row of -inf alone gives NaN, as the formula does.
std::string SoftmaxContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(TagOf(plugin::ParseSoftmax(op).dtype), traits.exp_ulp) + ";masked=nan";
}

constexpr Row kSoftmaxRows[] = {
    {{"softmax", plugin::kRealTypes, "three-pass"}, SoftmaxContract, SoftmaxWhyNot, CreateSoftmax<false>},
    {{"softmax", plugin::kRealTypes, "online"}, SoftmaxContract, SoftmaxWhyNot, CreateSoftmax<true>},
};

}  // namespace

std::span<const Row> SoftmaxRows() {
  return kSoftmaxRows;
}

}  // namespace gpu
