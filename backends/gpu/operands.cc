// SPDX-License-Identifier: Apache-2.0
// Operators whose kernels find each element by its index along every axis: a thread for each element or pair of the
// output, or a block for each row, channel or head.
#include <fmt/format.h>

#include <cmath>

#include "backends/common/float8.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

// The kernel of an operator, its parameters without addresses, and the elements of its workspace.
struct OperandLaunch {
  OperandKernel kernel{};
  OperandParams params;
  int threads = 1;  // that share a block; 1: each has an item of its own
  int64_t workspace = 0;
};

bool HasF64(const plugin::OpDesc& op) {
  return !op.AllTypes([](plugin::DType type) { return type != plugin::kF64; });
}

StridedOperand StridedOf(const plugin::Tensor& tensor) {
  StridedOperand operand{.type = TagOf(tensor.dtype)};
  std::copy(tensor.strides.begin(), tensor.strides.end(), operand.step);
  return operand;
}

OperandParams StridesOf(const plugin::OpDesc& op) {
  OperandParams p;
  p.inputs = static_cast<int32_t>(op.inputs().size());
  for (size_t i = 0; i < op.inputs().size(); ++i) p.x[i] = StridedOf(op.inputs()[i]);
  for (size_t i = 0; i < op.outputs().size(); ++i) p.y[i] = StridedOf(op.outputs()[i]);
  return p;
}

void SetSizes(OperandParams& p, std::initializer_list<int64_t> sizes) {
  std::copy(sizes.begin(), sizes.end(), p.size);
}

OperandLaunch RopeLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kRope, StridesOf(op)};
  const std::vector<int64_t>& x = op.inputs()[0].shape;
  SetSizes(launch.params, {x[1], x[2], x[3] / 2});
  launch.params.items = op.inputs()[0].Elements() / 2;
  launch.params.option = op.name() == "rope_backward" ? 1 : 0;
  return launch;
}

OperandLaunch CodesLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{op.name() == "quantize"     ? OperandKernel::kQuantize
                       : op.name() == "dequantize" ? OperandKernel::kDequantize
                                                   : OperandKernel::kRequantize,
                       StridesOf(op)};
  OperandParams& p = launch.params;
  for (size_t i = 1; i < op.inputs().size(); ++i) {
    const plugin::RowSteps steps = op.StepsOf(op.inputs()[i]);
    p.x[i].step[0] = steps.row, p.x[i].step[1] = steps.element;
  }
  op.AttrString("per");
  SetSizes(p, {op.inputs()[0].shape[1]});
  p.items = op.inputs()[0].Elements();
  const plugin::DType y = op.outputs()[0].dtype;
  p.high = y == plugin::kI8 ? 127 : y == plugin::kU8 ? 255 : y == plugin::kE4M3 ? 448 : 57344;
  p.low = y == plugin::kI8 ? -128 : y == plugin::kU8 ? 0 : -p.high;
  if (op.name() != "dequantize") p.integer = op.AttrInt("zero");
  p.option = op.name() == "quantize" && op.AttrInt("saturate") == 0 ? 0 : 1;
  return launch;
}

OperandLaunch GroupedGemmLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kGroupedGemm, StridesOf(op)};
  const std::vector<int64_t>& w = op.inputs()[1].shape;
  SetSizes(launch.params, {w[0], w[1], w[2]});
  launch.params.items = op.outputs()[0].Elements();
  return launch;
}

OperandLaunch ScaledMmLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kScaledMm, StridesOf(op)};
  OperandParams& p = launch.params;
  const int64_t k = op.inputs()[0].shape[1], n = op.inputs()[1].shape[1];
  const bool by_block = op.AttrString("per") == "block";
  const int64_t block = op.AttrInt("block");
  SetSizes(p, {k, n, by_block ? block : k, by_block ? block : 1});
  p.items = op.outputs()[0].Elements();
  if (op.AttrString("per") == "row") std::swap(p.x[3].step[0], p.x[3].step[1]);  // one for each column
  return launch;
}

OperandLaunch ScanLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{op.name() == "cumsum" ? OperandKernel::kCumSum : OperandKernel::kCumProd, StridesOf(op),
                       kItemThreads};
  SetSizes(launch.params, {op.inputs()[0].shape[1]});
  launch.params.items = op.inputs()[0].shape[0];
  return launch;
}

OperandLaunch TopKLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kTopK, StridesOf(op), kItemThreads};
  SetSizes(launch.params, {op.inputs()[0].shape[1], op.outputs()[0].shape[1]});
  launch.params.items = op.inputs()[0].shape[0];
  launch.params.option = op.AttrInt("smallest") != 0 ? 1 : 0;
  return launch;
}

OperandLaunch SelectiveScanLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kSelectiveScan, StridesOf(op), kStateThreads};
  const std::vector<int64_t>&u = op.inputs()[0].shape, &a = op.inputs()[2].shape;
  SetSizes(launch.params, {u[2], a[1], u[1]});
  launch.params.items = u[0] * u[1];
  return launch;
}

OperandLaunch PagedDecodeLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kPagedDecode, StridesOf(op), kItemThreads};
  OperandParams& p = launch.params;
  const std::vector<int64_t>&q = op.inputs()[0].shape, &keys = op.inputs()[1].shape;
  const int64_t most = op.inputs()[3].shape[1] * keys[1];
  SetSizes(p, {q[1], keys[2], q[2], keys[1], most});
  p.items = q[0] * q[1];
  p.factor = op.AttrFloat("scale");
  if (p.factor == 0) p.factor = 1 / std::sqrt(static_cast<double>(q[2]));
  launch.workspace = p.items * most;
  return launch;
}

OperandLaunch CrossEntropyLaunch(const plugin::OpDesc& op) {
  OperandLaunch launch{OperandKernel::kRowLoss, StridesOf(op), kItemThreads};
  OperandParams& p = launch.params;
  const std::vector<int64_t>& logits = op.inputs()[0].shape;
  SetSizes(p, {logits[1], logits[0]});
  p.items = launch.workspace = logits[0];
  p.factor = op.AttrFloat("smoothing"), p.integer = op.AttrInt("ignore");
  const std::string& reduction = op.AttrString("reduction");
  p.option = reduction == "none" ? 0 : reduction == "sum" ? 1 : 2;
  return launch;
}

void AddOperandStep(KernelPlan& plan, const char* name, OperandKernel kernel, bool wide, const OperandParams& params,
                    int32_t outputs) {
  plan.Add(name, [kernel, wide, p = params, outputs](const Bound& at) mutable {
    for (int32_t i = 0; i < p.inputs; ++i) p.x[i].data = at.Input(i);
    for (int32_t i = 0; i < outputs; ++i) p.y[i].data = at.Output(i);
    LaunchOperands(kernel, wide, p, at.stream());
  });
}

template <OperandLaunch (*kLaunchOf)(const plugin::OpDesc&)>
std::unique_ptr<plugin::Plan> CreateOperands(Device& device, const plugin::OpDesc& op) {
  OperandLaunch launch = kLaunchOf(op);
  const bool wide = HasF64(op);
  const auto outputs = static_cast<int32_t>(op.outputs().size());
  auto plan = std::make_unique<KernelPlan>(device, op);
  OperandParams& p = launch.params;
  if (launch.workspace > 0) p.workspace = plan->Workspace(static_cast<uint64_t>(launch.workspace * (wide ? 8 : 4)));
  AddOperandStep(*plan, launch.threads == 1 ? "RunItem" : "RunBlock", launch.kernel, wide, p, outputs);
  if (launch.kernel == OperandKernel::kRowLoss) {
    p.items = 1;
    AddOperandStep(*plan, "RunBlock", OperandKernel::kSumOfLosses, wide, p, outputs);
  }
  return plan;
}

// Numbers are all f64 or none is, but for integers and scales; a double rounded to 16 bits would be rounded twice.
std::string OperandTypesWhyNot(const plugin::OpDesc& op) {
  const bool mixed =
      HasF64(op) && !op.AllTypes([](plugin::DType type) { return type == plugin::kF64 || plugin::IsInteger(type); });
  if (!mixed && op.AllTypes(IsKnown)) return "";
  return fmt::format("{} does not compute {}", op.name(), op.DTypesText());
}

template <OperandLaunch (*kLaunchOf)(const plugin::OpDesc&)>
std::string OperandsWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore(
      {"rows", "n", "b", "c", "d", "h", "hkv", "k", "l", "m", "s", "groups", "pages", "page", "blocks", "tie"});
  if (std::string reason = OperandTypesWhyNot(op); !reason.empty()) return reason;
  const OperandLaunch launch = kLaunchOf(op);
  if (op.outputs()[0].Elements() == 0) return "no element";
  if (launch.kernel == OperandKernel::kSelectiveScan && launch.params.size[1] > kStateThreads * kStatesOfAThread) {
    return fmt::format("{} states; a block keeps {} of them at most", launch.params.size[1],
                       kStateThreads * kStatesOfAThread);
  }
  if (launch.threads > 1) return BlocksWhyNot(traits, static_cast<double>(launch.params.items), launch.threads);
  return BlocksWhyNot(traits, static_cast<double>(launch.params.items) / kItemThreads + 1, kItemThreads);
}

std::string ExactOperandsContract(const Traits&, const plugin::OpDesc& op) {
  return ContractText(HasF64(op) ? Tag::kF64 : Tag::kF32, 0);
}
std::string ExpOperandsContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(HasF64(op) ? Tag::kF64 : Tag::kF32, traits.exp_ulp);
}

template <OperandLaunch (*kLaunchOf)(const plugin::OpDesc&)>
constexpr Row OperandRow(const char* op, const char* name, decltype(ExactOperandsContract)* contract,
                         plugin::Types types = plugin::kRealTypes) {
  return {{op, types, name}, contract, OperandsWhyNot<kLaunchOf>, CreateOperands<kLaunchOf>};
}

constexpr plugin::DType kCodeTypes[] = {plugin::kI8, plugin::kU8, plugin::kE4M3, plugin::kE5M2};
constexpr plugin::DType kSumTypes[] = {plugin::kF32, plugin::kI8, plugin::kU8, plugin::kI32};

constexpr Row kOperandRows[] = {
    OperandRow<CodesLaunch>("dequantize", "thread-per-element", ExactOperandsContract, kCodeTypes),
    OperandRow<CodesLaunch>("quantize", "thread-per-element", ExactOperandsContract, plugin::kNarrowTypes),
    OperandRow<CodesLaunch>("requantize", "thread-per-element", ExactOperandsContract, kSumTypes),
    OperandRow<CrossEntropyLaunch>("cross_entropy", "block-per-row", ExpOperandsContract),
    OperandRow<GroupedGemmLaunch>("grouped_gemm", "thread-per-element", ExactOperandsContract),
    OperandRow<PagedDecodeLaunch>("paged_decode", "block-per-head", ExpOperandsContract),
    OperandRow<RopeLaunch>("rope", "thread-per-pair", ExactOperandsContract),
    OperandRow<RopeLaunch>("rope_backward", "thread-per-pair", ExactOperandsContract),
    OperandRow<ScaledMmLaunch>("scaled_mm", "thread-per-element", ExactOperandsContract, kCodeTypes),
    OperandRow<ScanLaunch>("cumprod", "block-per-row", ExactOperandsContract),
    OperandRow<ScanLaunch>("cumsum", "block-per-row", ExactOperandsContract),
    OperandRow<SelectiveScanLaunch>("selective_scan", "block-per-channel", ExpOperandsContract),
    OperandRow<TopKLaunch>("top_k", "block-per-row", ExactOperandsContract),
};

}  // namespace

std::span<const Row> OperandRows() {
  return kOperandRows;
}

}  // namespace gpu
