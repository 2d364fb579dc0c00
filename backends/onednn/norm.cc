// SPDX-License-Identifier: Apache-2.0
// layer_norm and softmax_backward: what oneDNN computes by rows, apart from softmax itself.
#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/problem.h"

namespace onednn {
namespace {

Md MdOf(const plugin::Tensor& tensor) {
  return Md(tensor.shape, *DataType(tensor.dtype), tensor.strides);
}

bool IsComputed(plugin::DType dtype) {
  return dtype == plugin::kF32 || dtype == plugin::kBF16;
}

}  // namespace

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
    problem.contract = [narrow = x.dtype == plugin::kBF16](const std::string&) {
      return std::string("f32acc;math=2;det=yes") + (narrow ? ";ftz=out" : "");
    };
    return problem;
  });
}

Problem SoftmaxBackwardProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"rows", "n"});
  const plugin::Tensor &y = op.inputs()[0], &dy = op.inputs()[1], &dx = op.outputs()[0];
  if (!IsComputed(y.dtype) || dy.dtype != y.dtype || dx.dtype != y.dtype) {
    throw plugin::Unsupported("softmax_backward {} is not offered: oneDNN on CPUs computes f32 and bf16",
                              op.DTypesText());
  }
  return OrUnsupported("softmax_backward " + op.DTypesText() + " with these strides", [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_DST, false, 0, MdOf(y)},
                        {DNNL_ARG_DIFF_DST, false, 1, MdOf(dy)},
                        {DNNL_ARG_DIFF_SRC, true, 0, MdOf(dx)}};
    const int axis = static_cast<int>(y.shape.size()) - 1;
    problem.descriptor = SoftmaxBackwardDescriptor(engine, MdOf(y), MdOf(dy), MdOf(dx), axis, StrictAttributes());
    problem.contract = [narrow = y.dtype == plugin::kBF16](const std::string&) {
      return std::string("f32acc;det=yes") + (narrow ? ";ftz=out" : "");
    };
    return problem;
  });
}

}  // namespace onednn
