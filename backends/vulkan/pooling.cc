// SPDX-License-Identifier: Apache-2.0
// Means, norms and maxima of windows of images.
#include <array>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using PoolSteps = std::array<uint32_t, 4>;
enum PoolKind : uint32_t { kMean, kAdaptiveMean, kSumOfSizes, kRootOfSquares, kMaximum };

// Layout as in shaders/pooling.comp. Axes of x and y are images, channels, rows and columns.
struct PoolParams {
  int32_t channels, h, w, oh, ow, windows, k, stride, pad, counts_padding, unused[2];
  PoolSteps x_step, y_step, place_step;
};

PoolKind KindOfPool(const plugin::OpDesc& op) {
  if (op.name() == "avg_pool") return kMean;
  if (op.name() == "adaptive_avg_pool") return kAdaptiveMean;
  if (op.name() == "max_pool") return kMaximum;
  return op.AttrString("p") == "1" ? kSumOfSizes : kRootOfSquares;
}

PoolSteps StepsOfImages(const plugin::Tensor& tensor) {
  PoolSteps steps{};
  for (size_t axis = 0; axis < steps.size(); ++axis) steps[axis] = static_cast<uint32_t>(tensor.strides[axis]);
  return steps;
}

PoolParams ParamsOfPool(const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  const auto extent = [](const plugin::Tensor& tensor, size_t axis) {
    return static_cast<int32_t>(tensor.shape[axis]);
  };
  const auto attribute = [&](const char* name) { return static_cast<int32_t>(op.AttrInt(name)); };
  PoolParams p{};
  p.channels = extent(x, 1), p.h = extent(x, 2), p.w = extent(x, 3), p.oh = extent(y, 2), p.ow = extent(y, 3);
  p.windows = static_cast<int32_t>(y.Elements());
  const PoolKind kind = KindOfPool(op);
  if (kind != kAdaptiveMean) p.k = attribute("k"), p.stride = attribute("stride"), p.pad = attribute("pad");
  if (kind == kMean) p.counts_padding = attribute("count_pad");
  p.x_step = StepsOfImages(x), p.y_step = StepsOfImages(y), p.place_step = StepsOfImages(op.outputs().back());
  return p;
}

// A kind without places binds its output in their stead, and does not write there.
Recipe PoolRecipe(const Facts&, const plugin::OpDesc& op) {
  const PoolParams p = ParamsOfPool(op);
  const PoolKind kind = KindOfPool(op);
  KernelSpec kernel{"pooling", VariantFor(op),
                    Constants(kElementLanes, {op.inputs()[0].dtype, op.outputs()[0].dtype, plugin::kI64}, {kind})};
  const auto tallest = static_cast<uint64_t>(kind == kAdaptiveMean ? p.h / p.oh + 2 : p.k);
  const auto widest = static_cast<uint64_t>(kind == kAdaptiveMean ? p.w / p.ow + 2 : p.k);
  return {{{std::move(kernel),
            BytesOf(p),
            {In(0), Out(), Out(kind == kMaximum ? 1 : 0)},
            CeilDiv(p.windows, kElementLanes),
            Turns(tallest, Turns(widest))}},
          {}};
}

std::string PoolWhyNot(const Facts&, const plugin::OpDesc& op) {
  op.MayIgnore({"n", "c", "h", "w", "oh", "ow", "ceil"});
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  if (y.dtype != x.dtype) return op.DTypesText() + ": one type is taken";
  if (y.Elements() == 0 || x.Elements() > INT32_MAX) return fmt::format("{} elements", x.Elements());
  ParamsOfPool(op);  // reads the attributes
  return "";
}

std::string PoolContract(const Facts& facts, const plugin::OpDesc& op) {
  const PoolKind kind = KindOfPool(op);
  return Declare(facts, op,
                 {.math = kind == kRootOfSquares  ? kSquareRootUlp
                          : kind <= kAdaptiveMean ? kDivisionUlp
                                                  : 0,
                  .selects = kind == kMaximum});
}

constexpr Row PoolRow(const char* op) {
  return {{op, plugin::kRealTypes, "window"}, PoolContract, PoolWhyNot, PoolRecipe};
}

constexpr Row kPoolRows[] = {PoolRow("adaptive_avg_pool"), PoolRow("avg_pool"), PoolRow("lp_pool"),
                             PoolRow("max_pool")};

}  // namespace

std::span<const Row> PoolRows() {
  return kPoolRows;
}

}  // namespace vulkan
