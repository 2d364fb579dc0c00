// SPDX-License-Identifier: Apache-2.0
// scaled_mm of bytes: oneDNN's product with its output scales, those of b, and a post-op that multiplies by those of a.

#include "backends/common/status.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"
#include "backends/onednn/zero_point.h"

namespace onednn {
namespace {

// Sums of products that are exact are turned into f32, and multiplied there; the code of zero is taken off before.
std::string ScaledProductContract(const plugin::OpDesc& op, const std::string&) {
  return op.outputs()[0].dtype == plugin::kBF16 ? "f32acc;det=yes;ftz=out" : "f32acc;det=yes";
}

Problem ScaledProductProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"m", "k", "n", "block"});
  const plugin::Tensor &a = op.inputs()[0], &b = op.inputs()[1], &y = op.outputs()[0];
  const plugin::Tensor &scale_a = op.inputs()[2], &scale_b = op.inputs()[3];
  const bool by_row = op.AttrString("per") == "row", has_zero = op.inputs().size() > 4;
  if (b.dtype != plugin::kI8 || !IsComputed(y.dtype) || scale_a.dtype != plugin::kF32 ||
      scale_b.dtype != plugin::kF32) {
    throw plugin::Unsupported("scaled_mm {} is not offered: oneDNN on CPUs multiplies bytes", op.DTypesText());
  }
  if (op.AttrString("per") == "block") throw plugin::Unsupported("oneDNN has no scales of blocks");
  if (has_zero && by_row) throw plugin::Unsupported("oneDNN has one code of zero for the whole of a");
  if (!HasInt8DotProduct(IsaBits())) {
    throw plugin::Unsupported("bytes are not offered on {}: without VNNI oneDNN's 16-bit sums saturate", IsaName());
  }
  if (!scale_b.IsDense()) throw plugin::Unsupported("oneDNN reads factors that lie one behind the other");
  return OrUnsupported("scaled_mm " + op.DTypesText() + " with these strides", [&] {
    dnnl::primitive_attr attributes = StrictAttributes();
    const Factors factors = AskForFactors(attributes, DNNL_ARG_WEIGHTS, by_row ? 2 : 0);
    if (has_zero) AskForZeroPoint(attributes, DNNL_ARG_SRC);
    const Md of_rows({by_row ? a.shape[0] : 1, 1}, dnnl::memory::data_type::f32,
                     dnnl::memory::dims{by_row ? scale_a.strides[0] : 1, 1});
    dnnl::post_ops behind;
    behind.append_binary(dnnl::algorithm::binary_mul, of_rows);
    attributes.set_post_ops(behind);
    const Md of_columns({scale_b.Elements()}, dnnl::memory::data_type::f32, dnnl::memory::dims{1});
    Problem problem;
    problem.keeps_promise = std::not_fn(SaturatesSumsOfBytes);
    problem.multiply_adds = static_cast<double>(a.Elements()) * static_cast<double>(b.shape[1]);
    problem.operands = {{DNNL_ARG_SRC, false, 0, MdOf(a)},
                        {DNNL_ARG_WEIGHTS, false, 1, MdOf(b)},
                        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, false, 2, of_rows},
                        {factors.argument, false, 3, of_columns},
                        {DNNL_ARG_DST, true, 0, MdOf(y)}};
    if (has_zero) AddZeroPoint(problem, DNNL_ARG_SRC, op.inputs()[4].dtype, 4, 0);
    problem.descriptor = MatmulDescriptor(engine, MdOf(a), MdOf(b), nullptr, MdOf(y), attributes);
    return problem;
  });
}

constexpr plugin::DType kProductBytes[] = {plugin::kI8, plugin::kU8};
constexpr Row kScaledProductRows[] = {
    {{"scaled_mm", kProductBytes, ""}, ScaledProductContract, Alone<ScaledProductProblem>}};

}  // namespace

std::span<const Row> ScaledProductRows() {
  return kScaledProductRows;
}

}  // namespace onednn
