// SPDX-License-Identifier: Apache-2.0
// conv in one to three dimensions for any strides and combination of storage types: `direct`, and `implicit-gemm` on
// the tiles of the matrix product.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/common/conv_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"
#include "backends/opencl/tile.h"

namespace opencl {
namespace {

using plugin::ConvSpec;
using plugin::Extents;

constexpr int64_t kDirectItems = 16;

// Must match the layout in kernels/conv_axes.cl.
struct ConvParams {
  int64_t n, c, o, groups, has_bias;
  Extents in, out, kernel, stride, pad, dilation;
  int64_t x_outer, x_inner;
  Extents x;
  int64_t w_outer, w_inner;
  Extents w;
  int64_t y_outer, y_inner;
  Extents y;
  int64_t bias;
};

ConvParams ParamsOf(const ConvSpec& s) {
  return {s.n,
          s.GroupInputs(),
          s.GroupOutputs(),
          s.groups,
          s.has_bias,
          s.in,
          s.out,
          s.kernel,
          s.stride,
          s.pad,
          s.dilation,
          s.x.outer_stride,
          s.x.inner_stride,
          s.x.strides,
          s.w.outer_stride,
          s.w.inner_stride,
          s.w.strides,
          s.y.outer_stride,
          s.y.inner_stride,
          s.y.strides,
          s.bias_stride};
}

ProgramSpec ConvProgram(const ConvSpec& s, const plugin::OpDesc& op, std::vector<const char*> files) {
  ProgramSpec program{std::move(files), AccumulatorOf(op), {}};
  program.options.Type("X", s.x.dtype).Type("W", s.w.dtype).Type("Y", s.y.dtype);
  program.options.Type("V", s.has_bias ? s.bias_dtype : s.y.dtype);
  return program;
}

// Without a bias the kernels get x in its place, and do not read it.
std::vector<Operand> ConvOperands(const KernelPlan& plan, const ConvSpec& s) {
  return {plan.Input(0), plan.Input(1), plan.Input(s.has_bias ? 2 : 0), plan.Output()};
}

// Whether a kernel for this very form may pay: a smaller convolution is done before a driver has compiled one.
bool IsLarge(const ConvSpec& s) {
  constexpr double kOperations = 1e6;
  return 2.0 * static_cast<double>(s.n * s.o) * static_cast<double>(s.Positions() * s.Terms()) > kOperations;
}

// Channels that an item computes together.
int64_t DirectOutputs(const ConvSpec& s) {
  if (!IsLarge(s)) return 4;
  return s.GroupOutputs() == 1 ? 1 : s.GroupOutputs() <= 4 ? 4 : 8;
}

// Neighbours along the last axis that it computes together.
int64_t DirectWidth(const Traits& traits, const ConvSpec& s) {
  if (!traits.is_cpu) return 4;
  return s.IsF64() || s.out[2] <= 8 || !IsLarge(s) ? 8 : 16;
}

std::unique_ptr<plugin::Plan> CreateDirect(Device& device, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  const int64_t outputs = DirectOutputs(s), width = DirectWidth(device.traits(), s);
  ProgramSpec program = ConvProgram(s, op, {"vectors.cl", "conv_axes.cl", "conv_direct.cl"});
  program.options.Define("OUTPUTS", outputs).Define("WIDTH", width);
  const auto blocks = [](int64_t n, int64_t unit) { return static_cast<size_t>((n + unit - 1) / unit); };
  const int64_t vectors = s.out[0] * s.out[1] * ((s.out[2] + width - 1) / width);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "direct", ConvOperands(*plan, s), ParamsOf(s),
               Grid{{blocks(vectors, kDirectItems), blocks(s.GroupOutputs(), outputs), blocks(s.n * s.groups, 1)},
                    {kDirectItems, 1, 1}});
  return plan;
}

Tile TileOf(const Traits& traits, Accumulator acc, const ConvSpec& s) {
  return TileFor(traits, acc, IsLarge(s) ? s.GroupOutputs() : kSmallTileRows);
}

std::unique_ptr<plugin::Plan> CreateImplicitGemm(Device& device, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  const Tile tile = TileOf(device.traits(), AccumulatorOf(op), s);
  ProgramSpec program = ConvProgram(s, op, {"vectors.cl", "tile.cl", "conv_axes.cl", "conv_gemm.cl"});
  program.options.Define("A_ALONG_K", 1).Define("RANK", IsLarge(s) ? s.rank : 3);
  tile.Define(program.options);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "implicit_gemm", ConvOperands(*plan, s), ParamsOf(s),
               tile.Over(s.GroupOutputs(), s.Positions(), s.n * s.groups));
  return plan;
}

std::string ConvWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) {
    if (std::string reason = plugin::IntegerConvWhyNot(s, true); !reason.empty()) return reason;
  } else if (!plugin::IsFloat(s.x.dtype) || !plugin::IsFloat(s.w.dtype) || !plugin::IsFloat(s.y.dtype)) {
    return fmt::format("conv computes f64, f32, f16, bf16 and i8-i8-i32, not {}", op.DTypesText());
  }
  if (std::max(s.Positions(), s.Terms()) > std::numeric_limits<int32_t>::max() / 2) {
    return "more than 2^30 positions or terms: the kernels count them in 32 bits";
  }
  return OperandsWhyNot(traits, op);
}

// A tile has rows of one group only: with few outputs in each it would compute mostly padding.
std::string GemmWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.groups > 1 && s.GroupOutputs() == 1) return "a depthwise conv is no matrix product: use direct";
  std::string reason = ConvWhyNot(traits, op);
  return reason.empty() ? TileOf(traits, AccumulatorOf(op), s).WhyNot(traits, AccumulatorOf(op)) : reason;
}

std::string ConvContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(traits, AccumulatorOf(op), Math::kNone);
}

constexpr Row kConvRows[] = {
    {{"conv", plugin::kRealTypesAndI8, "direct"}, ConvContract, ConvWhyNot, CreateDirect, true},
    {{"conv", plugin::kRealTypesAndI8, "implicit-gemm"}, ConvContract, GemmWhyNot, CreateImplicitGemm, true},
};

}  // namespace

std::span<const Row> ConvRows() {
  return kConvRows;
}

}  // namespace opencl
