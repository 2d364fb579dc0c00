// SPDX-License-Identifier: Apache-2.0
// Operators that compute lines of operands with any strides, a block per line. An operand of fewer axes than the first
// output, such as a weight, is the same for all lines; a further output of fewer axes has one number for each line.
#include <fmt/format.h>

#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

// Divisions and square roots are rounded once each, by compilers that are told nothing else; a factor is made of both.
constexpr double kMath = 2;

bool IsWide(const plugin::OpDesc& op) {
  return op.inputs()[0].dtype == plugin::kF64;
}

bool HasEps(const plugin::OpDesc& op) {
  return op.name() != "softmax_backward" && op.name() != "log_softmax_backward";
}

size_t OutputsOf(const plugin::OpDesc& op) {
  if (op.name() == "layer_norm") return op.AttrInt("stats") != 0 ? 3 : 1;
  return op.name() == "fused_add_rms_norm" ? 2 : 1;
}

LineOperand OperandOf(const plugin::Tensor& tensor, size_t rank, bool is_output) {
  LineOperand operand{.type = TagOf(tensor.dtype)};
  const bool is_whole = tensor.shape.size() == rank;
  if (is_whole || !is_output) operand.step = tensor.strides.back();
  if (!is_whole && !is_output) return operand;
  for (size_t axis = 0; axis + 1 < rank; ++axis) operand.axis_step[axis] = tensor.strides[axis];
  return operand;
}

LineParams ParamsOf(const plugin::OpDesc& op) {
  const plugin::Tensor& y = op.outputs()[0];
  const size_t rank = y.shape.size();
  LineParams p;
  p.size = y.shape.back(), p.lines = y.Elements() / p.size, p.axes = static_cast<int64_t>(rank) - 1;
  for (size_t axis = 0; axis + 1 < rank; ++axis) p.axis_size[axis] = y.shape[axis];
  for (size_t i = 0; i < op.inputs().size(); ++i) p.x[i] = OperandOf(op.inputs()[i], rank, false);
  for (size_t i = 0; i < op.outputs().size(); ++i) p.y[i] = OperandOf(op.outputs()[i], rank, true);
  p.outputs = static_cast<int32_t>(op.outputs().size());
  if (HasEps(op)) p.eps = op.AttrFloat("eps");
  return p;
}

template <LineKernel kKernel>
std::unique_ptr<plugin::Plan> CreateLines(Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("RunLine", [wide = IsWide(op), p = ParamsOf(op), inputs = op.inputs().size()](const Bound& at) mutable {
    for (size_t i = 0; i < inputs; ++i) p.x[i].data = at.Input(static_cast<int>(i));
    for (int i = 0; i < p.outputs; ++i) p.y[i].data = at.Output(i);
    LaunchLines(kKernel, wide, p, at.stream());
  });
  return plan;
}

std::string LinesWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n"});
  if (HasEps(op)) op.AttrFloat("eps");
  if (op.outputs().size() != OutputsOf(op))
    return fmt::format("{} outputs, not {}", OutputsOf(op), op.outputs().size());
  if (std::string reason = FloatTypesWhyNot(op); !reason.empty()) return reason;
  const plugin::Tensor& y = op.outputs()[0];
  if (y.Elements() == 0) return "no element";
  if (y.shape.size() > kMostAxes) return fmt::format("more than {} axes", kMostAxes);
  return BlocksWhyNot(traits, static_cast<double>(y.Elements() / y.shape.back()), kReduceThreads);
}

std::string LinesContract(const Traits& traits, const plugin::OpDesc& op) {
  const double math = op.name() == "log_softmax_backward" ? traits.exp_ulp : kMath;
  return ContractText(TagOf(op.inputs()[0].dtype), math);
}

template <LineKernel kKernel>
constexpr Row RowOf(const char* op, int layouts = plugin::kAnyLayout) {
  return {{op, plugin::kRealTypes, "block-per-line", layouts}, LinesContract, LinesWhyNot, CreateLines<kKernel>};
}

constexpr Row kLineRows[] = {
    RowOf<LineKernel::kLayerNorm>("layer_norm"),
    RowOf<LineKernel::kRmsNorm>("rms_norm"),
    RowOf<LineKernel::kFusedAddRmsNorm>("fused_add_rms_norm", plugin::kAnyLayout | plugin::kInPlace),
    RowOf<LineKernel::kSoftmaxBackward>("softmax_backward"),
    RowOf<LineKernel::kLogSoftmaxBackward>("log_softmax_backward"),
};

}  // namespace

std::span<const Row> LineRows() {
  return kLineRows;
}

}  // namespace gpu
