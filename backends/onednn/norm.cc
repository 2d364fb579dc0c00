// SPDX-License-Identifier: Apache-2.0
// layer_norm, its gradients and those of softmax: operators of rows, apart from softmax itself.
#include <algorithm>
#include <cmath>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

// oneDNN takes a variance and computes 1 / sqrt of it: of the numbers around 1 / rstd^2 the one that gives back most
// nearly what the operand has. In f32 there is none for an rstd below 5.5e-20 or above 2^74.5.
float VarianceOf(float rstd) {
  const float near = static_cast<float>(1 / (static_cast<double>(rstd) * rstd));
  float best = near;
  const auto error = [&](float variance) { return std::abs(1 / std::sqrt(variance) - rstd); };
  for (const float other : {std::nextafter(near, 0.0F), std::nextafter(near, INFINITY)}) {
    if (error(other) < error(best)) best = other;
  }
  return best;
}

std::string LayerNormContract(const plugin::OpDesc& op, const std::string&) {
  return WithFlush("f32acc;math=2;det=yes", op);
}

// The reference loops turn each dy into bf16 once more, which flushes.
std::string LayerNormBackwardContract(const plugin::OpDesc& op, const std::string& implementation) {
  const bool narrow = op.inputs()[0].dtype == plugin::kBF16;
  if (narrow && implementation.find("ref") != std::string::npos) return "f32acc;math=2;det=yes;ftz=all";
  return WithFlush("f32acc;math=2;det=yes", op);
}

std::string SoftmaxBackwardContract(const plugin::OpDesc& op, const std::string&) {
  return WithFlush(op.name() == "softmax_backward" ? "f32acc;det=yes" : "f32acc;math=4;det=yes", op);
}

Problem LayerNormProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"rows", "n"});
  const auto eps = static_cast<float>(op.AttrFloat("eps"));
  if (op.AttrInt("stats") != 0) throw plugin::Unsupported("oneDNN keeps the variance of a row, not 1 / sqrt of it");
  const plugin::Tensor &x = op.inputs()[0], &gamma = op.inputs()[1], &beta = op.inputs()[2], &y = op.outputs()[0];
  if (!IsComputed(x.dtype) || y.dtype != x.dtype || gamma.dtype != plugin::kF32 || beta.dtype != plugin::kF32) {
    throw plugin::Unsupported(
        "layer_norm {} is not offered: oneDNN on CPUs takes x and y in f32 or bf16, weights in f32", op.DTypesText());
  }
  return OrUnsupported("layer_norm " + op.DTypesText() + " with these strides", [&] {
    // Measured on 2.6.3: of 16 rows of 100 elements, 112 apart, 66 bytes between the rows were written over.
    if (!x.IsDense() || !y.IsDense()) {
      throw plugin::Unsupported("oneDNN's layer normalisation writes between padded rows");
    }
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, MdOf(x)},
                        {DNNL_ARG_SCALE, false, 1, MdOf(gamma)},
                        {DNNL_ARG_SHIFT, false, 2, MdOf(beta)},
                        {DNNL_ARG_DST, true, 0, MdOf(y)}};
    problem.descriptor = LayerNormDescriptor(engine, MdOf(x), eps, StrictAttributes());
    return problem;
  });
}

Problem LayerNormBackwardProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"rows", "n"});
  const std::vector<plugin::Tensor>&in = op.inputs(), &out = op.outputs();  // dy, x, mean, rstd, gamma; dx and sums
  const plugin::DType type = in[1].dtype;
  const auto is_f32 = [](const plugin::Tensor& tensor) { return tensor.dtype == plugin::kF32; };
  if (!IsComputed(type) || in[0].dtype != type || out[0].dtype != type || !std::all_of(&in[2], &in[4] + 1, is_f32) ||
      !std::all_of(&out[1], &out[2] + 1, is_f32)) {
    throw plugin::Unsupported(
        "layer_norm_backward {} is not offered: oneDNN on CPUs takes dy, x and dx in f32 or bf16, all else in f32",
        op.DTypesText());
  }
  if (!op.AllDense()) {
    throw plugin::Unsupported("oneDNN's gradients of layer normalisation take operands without gaps alone");
  }
  return OrUnsupported("layer_norm_backward " + op.DTypesText(), [&] {
    Problem problem;
    problem.operands = {
        {DNNL_ARG_DIFF_DST, false, 0, MdOf(in[0])},   {DNNL_ARG_SRC, false, 1, MdOf(in[1])},
        {DNNL_ARG_MEAN, false, 2, MdOf(in[2])},       {DNNL_ARG_VARIANCE, false, 3, MdOf(in[3]), VarianceOf},
        {DNNL_ARG_SCALE, false, 4, MdOf(in[4])},      {DNNL_ARG_DIFF_SRC, true, 0, MdOf(out[0])},
        {DNNL_ARG_DIFF_SCALE, true, 1, MdOf(out[1])}, {DNNL_ARG_DIFF_SHIFT, true, 2, MdOf(out[2])}};
    problem.descriptor = LayerNormBackwardDescriptor(engine, MdOf(in[1]), MdOf(in[2]), StrictAttributes());
    // A shift is not read, but up to 3.7 the primitive is refused without it.
    const dnnl::primitive_desc& pd = problem.descriptor.pd;
    if (dnnl_primitive_desc_query_s32(pd.get(), dnnl_query_num_of_inputs_s32, 0) > 5) {
      problem.operands.push_back({DNNL_ARG_SHIFT, false, 4, MdOf(in[4])});
    }
    return problem;
  });
}

Problem SoftmaxBackwardProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"rows", "n"});
  const plugin::Tensor &y = op.inputs()[0], &dy = op.inputs()[1], &dx = op.outputs()[0];
  if (!IsComputed(y.dtype) || dy.dtype != y.dtype || dx.dtype != y.dtype) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these strides", [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_DST, false, 0, MdOf(y)},
                        {DNNL_ARG_DIFF_DST, false, 1, MdOf(dy)},
                        {DNNL_ARG_DIFF_SRC, true, 0, MdOf(dx)}};
    const int axis = static_cast<int>(y.shape.size()) - 1;
    problem.descriptor = SoftmaxBackwardDescriptor(engine, op.name() == "log_softmax_backward", MdOf(y), MdOf(dy),
                                                   MdOf(dx), axis, StrictAttributes());
    return problem;
  });
}

constexpr Row kNormRows[] = {
    {{"layer_norm", kOneDnnTypes, "", plugin::kDense}, LayerNormContract, Alone<LayerNormProblem>},
    {{"layer_norm_backward", kOneDnnTypes, "", plugin::kDense},
     LayerNormBackwardContract,
     Alone<LayerNormBackwardProblem>},
    {{"log_softmax_backward", kOneDnnTypes, ""}, SoftmaxBackwardContract, Alone<SoftmaxBackwardProblem>},
    {{"softmax_backward", kOneDnnTypes, ""}, SoftmaxBackwardContract, Alone<SoftmaxBackwardProblem>},
};

}  // namespace

std::span<const Row> NormRows() {
  return kNormRows;
}

}  // namespace onednn
