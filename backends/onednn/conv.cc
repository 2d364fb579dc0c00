// SPDX-License-Identifier: Apache-2.0
// conv through oneDNN's forward convolution. Its implementations are offered on the operands' own (plain) layouts, and
// again, with "-reordered" behind the name, on the layouts that oneDNN likes best: there the reorders are part of each
// execution. Winograd exists in the second form only.
#include <algorithm>

#include "backends/common/conv_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using plugin::ConvOperand;
using plugin::ConvSpec;

dnnl::memory::dims Spatial(const ConvSpec& s, const plugin::Extents& extents) {
  return {extents.end() - s.rank, extents.end()};
}

Md DescOf(const ConvSpec& s, const ConvOperand& operand, dnnl::memory::dims outer, dnnl::memory::dims outer_strides,
          const plugin::Extents& extents) {
  const dnnl::memory::dims spatial = Spatial(s, extents), strides = Spatial(s, operand.strides);
  outer.insert(outer.end(), spatial.begin(), spatial.end());
  outer_strides.insert(outer_strides.end(), strides.begin(), strides.end());
  return {outer, DataTypeFor("conv", operand.dtype), outer_strides};
}

// With groups, w has an axis for them.
Md WeightsDesc(const ConvSpec& s) {
  if (s.groups == 1) return DescOf(s, s.w, {s.o, s.c}, {s.w.outer_stride, s.w.inner_stride}, s.kernel);
  return DescOf(s, s.w, {s.groups, s.GroupOutputs(), s.GroupInputs()},
                {s.GroupOutputs() * s.w.outer_stride, s.w.outer_stride, s.w.inner_stride}, s.kernel);
}

void CheckOffered(const ConvSpec& s) {
  const bool integer = s.x.dtype == plugin::kI8 && s.w.dtype == plugin::kI8 && s.y.dtype == plugin::kI32;
  if (s.IsInteger() != integer) throw plugin::Unsupported("the only integer conv is i8-i8-i32");
  if (!integer) return;
  if (s.has_bias) throw plugin::Unsupported("an integer conv with bias is not offered: oneDNN adds it in f32");
  if (!HasInt8DotProduct(IsaBits())) {
    throw plugin::Unsupported("i8 conv is not offered on {}: without VNNI oneDNN's 16-bit sums saturate", IsaName());
  }
}

// The convolutions for AVX2 and SSE4.1 are exact on signed bytes only with AVX-VNNI: without it they halve the weights,
// rounding odd ones, so that 16-bit sums do not saturate (oneDNN, developer guide, nuances of int8 computations). Their
// names tell: with it oneDNN calls the former avx2_vnni.
bool UniKernelsAreExact(const dnnl::engine& engine) {
  const auto any = [](const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
    return Md(dims, type, dnnl::memory::format_tag::any);
  };
  const ConvolutionGeometry geometry{dnnl::algorithm::convolution_direct, {1, 1}, {0, 0}, {0, 0}, {0, 0}};
  using enum dnnl::memory::data_type;
  Descriptor conv = ConvolutionDescriptor(engine, geometry, any({1, 16, 4, 4}, s8), any({16, 16, 3, 3}, s8), nullptr,
                                          any({1, 16, 2, 2}, s32), StrictAttributes());
  do {
    if (std::string_view(conv.pd.impl_info_str()).find("avx2_vnni") != std::string_view::npos) return true;
  } while (conv.pd.next_impl());
  return false;
}

std::string ConvContract(const plugin::OpDesc& op, const std::string& implementation) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) {
    return IntegerContract({IntegerSum::Operator::kConvolution, s.x.dtype, s.w.dtype, s.Terms()}, implementation);
  }
  std::string contract = "f32acc;det=yes";
  // jit_wino_4x3 is F(4 x 4, 3 x 3), jit_wino_2x3 F(2 x 2, 3 x 3) (oneDNN, developer guide, convolution).
  if (implementation.find("wino") != std::string::npos) {
    contract += implementation.find("4x3") != std::string::npos ? ";alg=winograd<4,3>" : ";alg=winograd<2,3>";
  }
  const bool is_narrow = s.x.dtype == plugin::kBF16 || s.w.dtype == plugin::kBF16;
  return contract + FlushOfProducts(is_narrow, s.y.dtype, implementation);
}

// The order [o][c][taps] of the weights' axes, gaps or not. 2.6.3 reorders int8 weights of other orders without the
// correction of its sums for the shifted image: results are then off by multiples of 128.
bool HasPlainWeights(const ConvSpec& s) {
  const plugin::Extents& taps = s.w.strides;
  return std::is_sorted(taps.rbegin(), taps.rbegin() + s.rank) && s.w.inner_stride >= *std::ranges::max_element(taps) &&
         s.w.outer_stride >= s.w.inner_stride;
}

Problem MakeProblem(const ConvSpec& s, const dnnl::engine& engine, dnnl::algorithm algorithm, bool own_layouts) {
  if (own_layouts && s.IsInteger() && !HasPlainWeights(s)) {
    throw plugin::Unsupported(
        "i8 weights whose axes have another order are not copied: oneDNN would lose a correction");
  }
  Problem problem;
  const Md x = DescOf(s, s.x, {s.n, s.c}, {s.x.outer_stride, s.x.inner_stride}, s.in), w = WeightsDesc(s);
  const Md y = DescOf(s, s.y, {s.n, s.o}, {s.y.outer_stride, s.y.inner_stride}, s.out);
  problem.operands = {{DNNL_ARG_SRC, false, 0, x}, {DNNL_ARG_WEIGHTS, false, 1, w}, {DNNL_ARG_DST, true, 0, y}};
  std::optional<Md> bias;
  if (s.has_bias) {
    bias = Md({s.o}, DataTypeFor("conv", s.bias_dtype), dnnl::memory::dims{1});  // 2.6.3 would not heed another stride
    const Md given({s.o}, DataTypeFor("conv", s.bias_dtype), dnnl::memory::dims{s.bias_stride});
    problem.operands.push_back({DNNL_ARG_BIAS, false, 2, given});
  }
  ConvolutionGeometry geometry{algorithm, Spatial(s, s.stride), Spatial(s, s.dilation), Spatial(s, s.pad),
                               Spatial(s, s.pad)};
  for (int64_t& dilation : geometry.dilations) --dilation;
  problem.own_layouts = true;
  problem.multiply_adds =
      static_cast<double>(s.n * s.o) * static_cast<double>(s.Positions()) * static_cast<double>(s.Terms());
  problem.suffix = own_layouts ? "-reordered" : "";
  const auto layout = [=](const Md& desc) { return own_layouts ? AnyLayout(desc) : desc; };
  problem.descriptor = ConvolutionDescriptor(engine, geometry, layout(x), layout(w), bias ? &*bias : nullptr, layout(y),
                                             StrictAttributes());
  if (s.IsInteger()) {
    static const bool uni_is_exact = UniKernelsAreExact(engine);  // the processor's answer, for every problem
    problem.keeps_promise = [](const std::string& name) {
      return !SaturatesSumsOfBytes(name) && (uni_is_exact || !name.starts_with("jit_uni_int8"));
    };
  }
  return problem;
}

std::vector<Problem> ConvProblems(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const ConvSpec spec = plugin::ParseConv(op);
  CheckOffered(spec);
  const auto make = [&](dnnl::algorithm algorithm, bool own_layouts) {
    return [&, algorithm, own_layouts] {
      return OrUnsupported("conv " + op.DTypesText() + " with these attributes and strides",
                           [&] { return MakeProblem(spec, engine, algorithm, own_layouts); });
    };
  };
  return KeepOffered({make(dnnl::algorithm::convolution_direct, false), make(dnnl::algorithm::convolution_direct, true),
                      make(dnnl::algorithm::convolution_winograd, true)});
}

constexpr plugin::DType kConvTypes[] = {plugin::kF32, plugin::kBF16, plugin::kI8};
constexpr Row kConvRows[] = {{{"conv", kConvTypes, ""}, ConvContract, ConvProblems}};

}  // namespace

std::span<const Row> ConvRows() {
  return kConvRows;
}

}  // namespace onednn
