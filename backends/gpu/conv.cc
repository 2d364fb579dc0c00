// SPDX-License-Identifier: Apache-2.0
// conv in one to three dimensions for any strides: `direct`, `implicit-gemm` on the tiles of the matrix product, and
// `implicit-gemm-matrix-unit` for f16 and bf16.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/common/conv_spec.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::ConvSpec;

ConvParams ConvParamsOf(const ConvSpec& s) {
  const auto narrow = [](int64_t x) { return static_cast<int32_t>(x); };
  ConvParams p;
  p.has_bias = s.has_bias, p.bias_at = s.bias_stride, p.dense = s.HasDenseTerms(), p.y_type = TagOf(s.y.dtype);
  if (s.has_bias) p.bias_type = TagOf(s.bias_dtype);
  p.n = narrow(s.n), p.c = narrow(s.GroupInputs()), p.o = narrow(s.GroupOutputs()), p.groups = narrow(s.groups);
  for (size_t a = 0; a < 3; ++a) {
    p.in[a] = narrow(s.in[a]), p.out[a] = narrow(s.out[a]), p.kernel[a] = narrow(s.kernel[a]);
    p.stride[a] = narrow(s.stride[a]), p.pad[a] = narrow(s.pad[a]), p.dilation[a] = narrow(s.dilation[a]);
    p.x_at[a] = s.x.strides[a], p.w_at[a] = s.w.strides[a], p.y_at[a] = s.y.strides[a];
  }
  p.x_outer = s.x.outer_stride, p.x_inner = s.x.inner_stride, p.w_outer = s.w.outer_stride;
  p.w_inner = s.w.inner_stride, p.y_outer = s.y.outer_stride, p.y_inner = s.y.inner_stride;
  return p;
}

// The plan of one launch, which gets the operands' addresses.
template <class LaunchConv>
std::unique_ptr<plugin::Plan> ConvPlan(Device& device, const plugin::OpDesc& op, std::string_view kernel,
                                       const LaunchConv& launch) {
  const ConvSpec s = plugin::ParseConv(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add(kernel, [type = TagOf(s.x.dtype), launch, p = ConvParamsOf(s)](const Bound& at) mutable {
    p.x = at.Input(0), p.w = at.Input(1), p.y = at.Output();
    if (p.has_bias) p.bias = at.Input(2);
    launch(type, p, at.stream());
  });
  return plan;
}

std::unique_ptr<plugin::Plan> CreateDirect(Device& device, const plugin::OpDesc& op) {
  return ConvPlan(device, op, "DirectConv", LaunchDirectConv);
}

TileKind TileFor(const ConvSpec& s) {
  return s.GroupOutputs() <= SkinnyTile::kRows ? TileKind::kSkinny : TileKind::kMedium;
}

std::unique_ptr<plugin::Plan> CreateImplicitGemm(Device& device, const plugin::OpDesc& op) {
  return ConvPlan(device, op, "GemmConv",
                  [tile = TileFor(plugin::ParseConv(op))](Tag type, const ConvParams& p, void* stream) {
                    LaunchGemmConv(type, tile, p, stream);
                  });
}

std::unique_ptr<plugin::Plan> CreateUnitConv(Device& device, const plugin::OpDesc& op) {
  return ConvPlan(device, op, "UnitConv",
                  [threads = device.traits().ProductThreads()](Tag type, const ConvParams& p, void* stream) {
                    LaunchUnitConv(type, threads, p, stream);
                  });
}

// Checks the conditions of every kernel except that its grid can be launched.
std::string ConvWhyNot(const ConvSpec& s, const plugin::OpDesc& op) {
  constexpr double kMost32 = std::numeric_limits<int32_t>::max() / 2;
  if (!s.IsInteger() && s.x.dtype != s.w.dtype) {
    return fmt::format("conv takes x and w of one type, not {}", op.DTypesText());
  }
  std::string reason = s.IsInteger() ? plugin::IntegerConvWhyNot(s, true) : FloatTypesWhyNot(op);
  if (!reason.empty()) return reason;
  double most = static_cast<double>(std::max(s.Positions(), s.Terms()));
  for (size_t a = 0; a < 3; ++a) {
    for (const int64_t x : {s.in[a], s.stride[a], s.pad[a], s.dilation[a]})
      most = std::max(most, static_cast<double>(x));
  }
  if (std::max({most, static_cast<double>(s.n), static_cast<double>(s.c), static_cast<double>(s.o)}) > kMost32) {
    return "more than 2^30 positions, terms or channels: the kernels count them in 32 bits";
  }
  return "";
}

std::string DirectWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (std::string reason = ConvWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(ConvBlocks(ConvParamsOf(s))), kConvThreads);
}

// A tile has rows of one group only: with one output in each it would compute mostly padding.
std::string ProductWhyNot(const ConvSpec& s, const plugin::OpDesc& op) {
  if (s.groups > 1 && s.GroupOutputs() == 1) return "a depthwise conv is no matrix product: use direct";
  return ConvWhyNot(s, op);
}

std::string GemmWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (std::string reason = ProductWhyNot(s, op); !reason.empty()) return reason;
  const ConvParams p = ConvParamsOf(s);
  const int64_t tiles = TileFor(s) == TileKind::kSkinny ? ConvTiles<SkinnyTile>(p) : ConvTiles<MediumTile>(p);
  return BlocksWhyNot(traits, static_cast<double>(tiles), kTileThreads);
}

std::string UnitConvWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (std::string reason = UnitWhyNot(traits, s.x.dtype); !reason.empty()) return reason;
  if (std::string reason = ProductWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(ConvTiles<UnitShape>(ConvParamsOf(s))), traits.ProductThreads());
}

std::string ConvContract(const Traits&, const plugin::OpDesc& op) {
  return ContractText(TagOf(plugin::ParseConv(op).x.dtype), 0);
}

std::string UnitConvContract(const Traits& traits, const plugin::OpDesc&) {
  return UnitContractText(traits, 0);
}

constexpr Row kConvRows[] = {
    {{"conv", plugin::kRealTypesAndI8, "direct"}, ConvContract, DirectWhyNot, CreateDirect},
    {{"conv", plugin::kRealTypesAndI8, "implicit-gemm"}, ConvContract, GemmWhyNot, CreateImplicitGemm},
    {{"conv", plugin::kHalfTypes, "implicit-gemm-matrix-unit"}, UnitConvContract, UnitConvWhyNot, CreateUnitConv},
};

}  // namespace

std::span<const Row> ConvRows() {
  return kConvRows;
}

}  // namespace gpu
