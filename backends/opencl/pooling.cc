// SPDX-License-Identifier: Apache-2.0
// Means, norms and maxima of windows of images, an item per window.
#include <fmt/format.h>

#include <array>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

constexpr int64_t kPoolGroup = 64;

// Must match the layout in kernels/pooling.cl. Axes of x and y are images, channels, rows and columns.
struct PoolParams {
  int64_t channels, h, w, oh, ow, windows, k, stride, pad, counts_padding, kind;
  std::array<int64_t, 4> x_step{}, y_step{}, place_step{};
};

enum PoolKind : int64_t { kMean, kAdaptiveMean, kSumOfSizes, kRootOfSquares, kMaximum };

PoolKind KindOfPool(const plugin::OpDesc& op) {
  if (op.name() == "avg_pool") return kMean;
  if (op.name() == "adaptive_avg_pool") return kAdaptiveMean;
  if (op.name() == "max_pool") return kMaximum;
  return op.AttrString("p") == "1" ? kSumOfSizes : kRootOfSquares;
}

std::array<int64_t, 4> StepsOf4(const plugin::Tensor& tensor) {
  return {tensor.strides[0], tensor.strides[1], tensor.strides[2], tensor.strides[3]};
}

PoolParams ParamsOfPool(const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  const PoolKind kind = KindOfPool(op);
  PoolParams p{.channels = x.shape[1],
               .h = x.shape[2],
               .w = x.shape[3],
               .oh = y.shape[2],
               .ow = y.shape[3],
               .windows = y.Elements(),
               .kind = kind,
               .x_step = StepsOf4(x),
               .y_step = StepsOf4(y),
               .place_step = StepsOf4(op.outputs().back())};
  if (kind != kAdaptiveMean) p.k = op.AttrInt("k"), p.stride = op.AttrInt("stride"), p.pad = op.AttrInt("pad");
  if (kind == kMean) p.counts_padding = op.AttrInt("count_pad");
  return p;
}

std::unique_ptr<plugin::Plan> CreatePooling(Device& device, const plugin::OpDesc& op) {
  const PoolParams p = ParamsOfPool(op);
  ProgramSpec program{{"pooling.cl"}, AccumulatorOf(op), {}};
  program.options.Type("X", op.inputs()[0].dtype);
  auto plan = std::make_unique<KernelPlan>(device, op);
  const Grid grid = RowOfGroups((p.windows + kPoolGroup - 1) / kPoolGroup, kPoolGroup);
  if (p.kind == kMaximum) {
    plan->Launch(program, "maxima", {plan->Input(0), plan->Output(), plan->Output(1)}, p, grid);
  } else {
    plan->Launch(program, "sums", {plan->Input(0), plan->Output()}, p, grid);
  }
  return plan;
}

std::string PoolingWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  op.MayIgnore({"n", "c", "h", "w", "oh", "ow", "ceil"});
  ParamsOfPool(op);  // reads the attributes
  if (op.outputs()[0].dtype != op.inputs()[0].dtype) return op.DTypesText() + ": one type is taken";
  return op.outputs()[0].Elements() == 0 ? "no element" : OperandsWhyNot(traits, op);
}

std::string PoolingContract(const Traits& traits, const plugin::OpDesc& op) {
  const PoolKind kind = KindOfPool(op);
  return ContractText(traits, AccumulatorOf(op),
                      kind == kRootOfSquares  ? Math::kSqrt
                      : kind <= kAdaptiveMean ? Math::kDivide
                                              : Math::kNone);
}

constexpr Row PoolRow(const char* op) {
  return {{op, plugin::kRealTypes, "item-per-window"}, PoolingContract, PoolingWhyNot, CreatePooling};
}

constexpr Row kPoolRows[] = {PoolRow("adaptive_avg_pool"), PoolRow("avg_pool"), PoolRow("lp_pool"),
                             PoolRow("max_pool")};

}  // namespace

std::span<const Row> PoolingRows() {
  return kPoolRows;
}

}  // namespace opencl
