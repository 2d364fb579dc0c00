// SPDX-License-Identifier: Apache-2.0
// The gradients of conv for its data and its weights, and conv_transpose, oneDNN's deconvolution; each on plain layouts
// and, with "-reordered" behind the name, on those that oneDNN likes best, as conv.
#include <algorithm>
#include <utility>

#include "backends/common/status.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

std::string ConvGradientContract(const plugin::OpDesc& op, const std::string& implementation) {
  const bool is_narrow = op.inputs()[0].dtype == plugin::kBF16;
  return "f32acc;det=yes" + FlushOfProducts(is_narrow, op.outputs()[0].dtype, implementation);
}

// [c,o,k,k] as oneDNN has it, [o,c,k,k].
Md SwappedMdOf(plugin::Tensor weights) {
  std::swap(weights.shape[0], weights.shape[1]);
  std::swap(weights.strides[0], weights.strides[1]);
  return MdOf(weights);
}

struct ThreeOperands {
  Operand first, second, result;
};

// dy and x of the convolution, and its weights, whichever of these is the output.
ThreeOperands OperandsOf(const plugin::OpDesc& op) {
  const plugin::Tensor &first = op.inputs()[0], &second = op.inputs()[1], &result = op.outputs()[0];
  if (op.name() == "conv_transpose") {
    return {{DNNL_ARG_SRC, false, 0, MdOf(first)},
            {DNNL_ARG_WEIGHTS, false, 1, SwappedMdOf(second)},
            {DNNL_ARG_DST, true, 0, MdOf(result)}};
  }
  const bool of_data = op.name() == "conv_backward_data";
  return {{DNNL_ARG_DIFF_DST, false, 0, MdOf(first)},
          {of_data ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, false, 1, MdOf(second)},
          {of_data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DIFF_WEIGHTS, true, 0, MdOf(result)}};
}

Descriptor DescriptorOf(const std::string& op, const dnnl::engine& engine, const ConvolutionGeometry& g,
                        const Md& first, const Md& second, const Md& result) {
  using Conv = dnnl::convolution_forward;
  const dnnl::primitive_attr attributes = StrictAttributes();
  if (op == "conv_transpose") {
    return MakeDescriptor<dnnl::deconvolution_forward>(engine, attributes, kInference,
                                                       dnnl::algorithm::deconvolution_direct, first, second, result,
                                                       g.strides, g.dilations, g.padding, g.padding_behind);
  }
  const bool of_data = op == "conv_backward_data";
  const Md &x = of_data ? result : second, &weights = of_data ? second : result;
  const std::tuple forward(kTraining, g.algorithm, x, weights, first, g.strides, g.dilations, g.padding,
                           g.padding_behind);
  const auto make = [&]<class Backward>(std::in_place_type_t<Backward>) {
    return MakeGradient<Conv, Backward>(engine, attributes, forward, g.algorithm, x, weights, first, g.strides,
                                        g.dilations, g.padding, g.padding_behind);
  };
  return of_data ? make(std::in_place_type<dnnl::convolution_backward_data>)
                 : make(std::in_place_type<dnnl::convolution_backward_weights>);
}

Problem MakeGradientProblem(const plugin::OpDesc& op, const dnnl::engine& engine, bool own_layouts) {
  const int64_t stride = op.AttrInt("stride"), pad = op.AttrInt("pad");
  const ConvolutionGeometry geometry{
      dnnl::algorithm::convolution_direct, {stride, stride}, {0, 0}, {pad, pad}, {pad, pad}};
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these attributes and strides", [&] {
    const auto [first, second, result] = OperandsOf(op);
    const auto layout = [&](const Md& desc) { return own_layouts ? AnyLayout(desc) : desc; };
    Problem problem;
    problem.operands = {first, second, result};
    problem.own_layouts = true;
    problem.suffix = own_layouts ? "-reordered" : "";
    problem.descriptor =
        DescriptorOf(op.name(), engine, geometry, layout(first.desc), layout(second.desc), layout(result.desc));
    return problem;
  });
}

// Each element of the first operand, x or dy, meets each of the kernel's of its channel.
double CountMultiplyAdds(const plugin::OpDesc& op) {
  const bool of_weights = op.name() == "conv_backward_weights";
  const plugin::Tensor& weights = of_weights ? op.outputs()[0] : op.inputs()[1];
  const plugin::Tensor& first = op.inputs()[0];
  const auto channels = static_cast<double>(std::max<int64_t>(first.shape[1], 1));
  return static_cast<double>(first.Elements()) * static_cast<double>(weights.Elements()) / channels;
}

std::vector<Problem> ConvGradientProblems(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"n", "c", "o", "h", "w", "k", "more"});
  const plugin::DType type = op.inputs()[0].dtype;
  if (!IsComputed(type) || !op.AllTypes([&](plugin::DType dtype) { return dtype == type; })) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  std::vector<Problem> problems = KeepOffered(
      {[&] { return MakeGradientProblem(op, engine, false); }, [&] { return MakeGradientProblem(op, engine, true); }});
  for (Problem& problem : problems) problem.multiply_adds = CountMultiplyAdds(op);
  return problems;
}

constexpr Row kConvGradientRows[] = {
    {{"conv_backward_data", kOneDnnTypes, ""}, ConvGradientContract, ConvGradientProblems},
    {{"conv_backward_weights", kOneDnnTypes, ""}, ConvGradientContract, ConvGradientProblems},
    {{"conv_transpose", kOneDnnTypes, ""}, ConvGradientContract, ConvGradientProblems},
};

}  // namespace

std::span<const Row> ConvGradientRows() {
  return kConvGradientRows;
}

}  // namespace onednn
