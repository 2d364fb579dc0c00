// SPDX-License-Identifier: Apache-2.0
// Functions of single elements and the gate of silu_and_mul, of operands with any strides.
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

PointFunction FunctionOf(const plugin::OpDesc& op) {
  if (op.name() == "gelu") {
    return op.AttrString("approx") == "tanh" ? PointFunction::kGeluByTanh : PointFunction::kGelu;
  }
  if (op.name() == "silu_and_mul") return PointFunction::kSiluAndMul;
  if (op.name() == "exp") return PointFunction::kExp;
  if (op.name() == "log") return PointFunction::kLog;
  if (op.name() == "tanh") return PointFunction::kTanh;
  return op.name() == "erf" ? PointFunction::kErf : PointFunction::kRsqrt;
}

PointOperand OperandOf(const plugin::Tensor& tensor) {
  return {.type = TagOf(tensor.dtype),
          .row_step = tensor.shape.size() > 1 ? tensor.strides[0] : 0,
          .step = tensor.strides.back()};
}

std::unique_ptr<plugin::Plan> CreatePoints(Device& device, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  PointParams p{.x = OperandOf(x), .y = OperandOf(y), .function = FunctionOf(op), .size = y.shape.back()};
  p.rows = y.Elements() / p.size;
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("RunPoints", [wide = x.dtype == plugin::kF64, p](const Bound& at) mutable {
    p.x.data = at.Input(0), p.y.data = at.Output();
    LaunchPoints(wide, p, at.stream());
  });
  return plan;
}

std::string PointsWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n"});
  FunctionOf(op);  // reads its attributes
  if (std::string reason = FloatTypesWhyNot(op); !reason.empty()) return reason;
  const plugin::Tensor& y = op.outputs()[0];
  if (y.Elements() == 0) return "no element";
  return BlocksWhyNot(traits, static_cast<double>(y.Elements()) / kReduceThreads + 1, kReduceThreads);
}

// A reciprocal of a root is rounded twice, as a quotient with a sum in it is.
std::string PointsContract(const Traits& traits, const plugin::OpDesc& op) {
  const PointFunction function = FunctionOf(op);
  const bool by_erf = function == PointFunction::kErf || function == PointFunction::kGelu;
  const bool by_tanh = function == PointFunction::kTanh || function == PointFunction::kGeluByTanh;
  const double math = by_erf                              ? traits.erf_ulp
                      : by_tanh                           ? traits.tanh_ulp
                      : function == PointFunction::kRsqrt ? 2
                                                          : traits.exp_ulp;
  return ContractText(TagOf(op.inputs()[0].dtype), math);
}

constexpr Row RowOf(const char* op) {
  return {{op, plugin::kRealTypes, "thread-per-element"}, PointsContract, PointsWhyNot, CreatePoints};
}

constexpr Row kPointRows[] = {RowOf("exp"),   RowOf("log"),  RowOf("tanh"),        RowOf("erf"),
                              RowOf("rsqrt"), RowOf("gelu"), RowOf("silu_and_mul")};

}  // namespace

std::span<const Row> PointRows() {
  return kPointRows;
}

}  // namespace gpu
