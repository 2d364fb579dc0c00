// SPDX-License-Identifier: Apache-2.0
// Operators of lines, of dense operands: normalisations and gradients of softmax by a group per line, sums and products
// along a line by an item, and batch_norm, whose statistics are given, by an item per element.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

constexpr int64_t kLineGroup = 64;

// Must match the layout in kernels/lines.cl. Element i of line l has weight l % period * weight_step + i / inner.
struct LineParams {
  int64_t lines, size, period = 1, weight_step = 0, inner = 1, kind = 0, eps = 0;
};

// Results of a line; kernels/lines.cl numbers them alike.
enum LineKind : int64_t { kLayerNorm, kRmsNorm, kFusedAddRmsNorm, kSoftmaxBackward, kLogSoftmaxBackward, kBatchNorm };

LineKind KindOf(const plugin::OpDesc& op) {
  constexpr std::pair<std::string_view, LineKind> kKinds[] = {{"rms_norm", kRmsNorm},
                                                              {"fused_add_rms_norm", kFusedAddRmsNorm},
                                                              {"softmax_backward", kSoftmaxBackward},
                                                              {"log_softmax_backward", kLogSoftmaxBackward},
                                                              {"batch_norm", kBatchNorm}};
  const auto* found = std::ranges::find(kKinds, op.name(), &std::pair<std::string_view, LineKind>::first);
  return found == std::end(kKinds) ? kLayerNorm : found->second;
}

bool HasEps(const plugin::OpDesc& op) {
  return op.name().ends_with("norm");
}

LineParams ParamsOf(const plugin::OpDesc& op) {
  const std::vector<int64_t>& shape = op.inputs()[0].shape;
  LineParams p{.lines = 1, .size = shape.back(), .kind = KindOf(op)};
  if (op.name() == "group_norm") {  // [b,g,c,n] by gamma [g,c]
    p.size = shape[2] * shape[3], p.period = shape[1], p.weight_step = shape[2], p.inner = shape[3];
  } else if (shape.size() == 3) {  // [n,c,s] by gamma [c]
    p.period = shape[1], p.weight_step = 1, p.inner = p.size;
  }
  p.lines = op.inputs()[0].Elements() / p.size;
  if (HasEps(op)) p.eps = ScalarBits(AccumulatorOf(op), op.AttrFloat("eps"));
  return p;
}

ProgramSpec LineProgram(const plugin::OpDesc& op, const char* file) {
  ProgramSpec program{{"group.cl", file}, AccumulatorOf(op), {}};
  program.options.Type("X", op.inputs()[0].dtype).Type("Y", op.outputs()[0].dtype).Define("GROUP", kLineGroup);
  return program;
}

// x, residual or the gradient beside it, gamma, beta, y and the stored sum; what an operator lacks is one that it has.
std::unique_ptr<plugin::Plan> CreateNorm(Device& device, const plugin::OpDesc& op) {
  const LineParams p = ParamsOf(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  const bool has_second = p.kind >= kFusedAddRmsNorm;
  const int gamma = HasEps(op) ? (has_second ? 2 : 1) : 0, last = static_cast<int>(op.inputs().size()) - 1;
  ProgramSpec program = LineProgram(op, "lines.cl");
  program.options.Type("W", op.inputs()[static_cast<size_t>(gamma)].dtype);
  plan->Launch(program, "norm",
               {plan->Input(0), plan->Input(has_second ? 1 : 0), plan->Input(gamma), plan->Input(HasEps(op) ? last : 0),
                plan->Output(), plan->Output(static_cast<int>(op.outputs().size()) - 1)},
               p, RowOfGroups(p.lines, kLineGroup));
  return plan;
}

std::unique_ptr<plugin::Plan> CreateBatchNorm(Device& device, const plugin::OpDesc& op) {
  const LineParams p = ParamsOf(op);
  ProgramSpec program = LineProgram(op, "batch_norm.cl");
  program.options.Type("W", op.inputs()[1].dtype);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "batch_norm",
               {plan->Input(0), plan->Input(1), plan->Input(2), plan->Input(3), plan->Input(4), plan->Output()}, p,
               RowOfGroups(p.lines, kLineGroup));
  return plan;
}

std::unique_ptr<plugin::Plan> CreateScan(Device& device, const plugin::OpDesc& op) {
  LineParams p = ParamsOf(op);
  p.kind = op.name() == "cumprod" ? 1 : 0;
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(LineProgram(op, "scan.cl"), "scan", {plan->Input(0), plan->Output()}, p,
               RowOfGroups((p.lines + kLineGroup - 1) / kLineGroup, kLineGroup));
  return plan;
}

std::string LinesWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n", "b", "g", "c", "s"});
  if (HasEps(op)) op.AttrFloat("eps");
  if (op.name() == "layer_norm" && op.AttrInt("stats") != 0) return "stats=1 is not offered";
  if (!op.AllDense()) return "operands have to be dense";
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  const auto is_weight = [&](const plugin::Tensor& tensor) { return tensor.dtype == op.inputs().back().dtype; };
  const bool has_weights = HasEps(op) && op.name() != "fused_add_rms_norm";
  if (has_weights && !std::all_of(op.inputs().begin() + 1, op.inputs().end(), is_weight)) {
    return op.DTypesText() + ": weights of one type are taken";
  }
  if (!op.AllTypes(plugin::IsFloat) || (HasEps(op) && y.dtype != x.dtype)) {
    return op.DTypesText() + " is not among the types of the kernels";
  }
  return y.Elements() == 0 ? "no element" : OperandsWhyNot(traits, op);
}

// A factor is made of a root and a division.
std::string NormContract(const Traits& traits, const plugin::OpDesc& op) {
  const bool has_exp = op.name() == "log_softmax_backward", has_root = HasEps(op);
  return ContractText(traits, AccumulatorOf(op), has_root ? Math::kSqrt : Math::kNone, has_exp ? 3 : has_root ? 5 : 0);
}

// An item that stores a sum has read what lay there.
constexpr Row NormRow(const char* op, int layouts = plugin::kDense) {
  return {{op, plugin::kRealTypes, "group-per-line", layouts}, NormContract, LinesWhyNot, CreateNorm};
}
constexpr Row ScanRow(const char* op) {
  return {{op, plugin::kRealTypes, "item-per-line", plugin::kDense}, NormContract, LinesWhyNot, CreateScan};
}

constexpr Row kLineRows[] = {
    {{"batch_norm", plugin::kRealTypes, "group-per-line", plugin::kDense}, NormContract, LinesWhyNot, CreateBatchNorm},
    NormRow("fused_add_rms_norm", plugin::kInPlace),
    NormRow("group_norm"),
    NormRow("instance_norm"),
    NormRow("layer_norm"),
    NormRow("log_softmax_backward"),
    NormRow("rms_norm"),
    NormRow("softmax_backward"),
    ScanRow("cumprod"),
    ScanRow("cumsum"),
};

}  // namespace

std::span<const Row> LineRows() {
  return kLineRows;
}

}  // namespace opencl
