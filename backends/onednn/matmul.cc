// SPDX-License-Identifier: Apache-2.0
// matmul. alpha is a linear post-op, beta*c a sum onto an output that c was copied into, bias oneDNN's own operand
// where that keeps y = alpha AB + beta c + bias, else a binary post-op. All of these are computed in f32 and rounded
// once.
#include "backends/common/matmul_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using plugin::MatmulSpec;
using plugin::Matrix;

// The stride along an axis of extent 1 says nothing, but 2.6.3 takes it for the length of a line: it gets that of a
// dense matrix.
Md DescOf(Matrix x, const MatmulSpec& spec, int64_t rows, int64_t columns) {
  if (columns == 1) x.column_stride = 1;
  if (rows == 1) x.row_stride = columns * x.column_stride;
  if (spec.batch > 1) {
    return {
        {spec.batch, rows, columns}, DataTypeFor("matmul", x.dtype), {x.batch_stride, x.row_stride, x.column_stride}};
  }
  return {{rows, columns}, DataTypeFor("matmul", x.dtype), {x.row_stride, x.column_stride}};
}

// [n] as the [1, n] or [1, 1, n] that broadcasts over rows.
Md BiasDesc(const MatmulSpec& spec) {
  const int64_t outer = spec.n * spec.bias.column_stride;
  if (spec.batch > 1)
    return {{1, 1, spec.n}, DataTypeFor("matmul", spec.bias.dtype), {outer, outer, spec.bias.column_stride}};
  return {{1, spec.n}, DataTypeFor("matmul", spec.bias.dtype), {outer, spec.bias.column_stride}};
}

void CheckOffered(const MatmulSpec& s) {
  const bool has_epilogue = s.c.input >= 0 || s.bias.input >= 0;
  if (s.IsEmpty()) throw plugin::Unsupported("matmul with an extent below 1");
  if (s.epilogue_rounded && has_epilogue) {
    throw plugin::Unsupported("epilogue=rounded is not offered: oneDNN rounds once, after its post-ops");
  }
  if (s.c.input >= 0 && s.c.dtype != s.y.dtype) {
    throw plugin::Unsupported("c in {} with an output in {} is not offered: c is summed in the output's type",
                              plugin::Name(s.c.dtype), plugin::Name(s.y.dtype));
  }
  if (!s.IsInteger()) return;
  if (s.alpha != 1 || has_epilogue) {
    throw plugin::Unsupported(
        "an integer matmul with alpha, c or bias is not offered: oneDNN computes post-ops in f32");
  }
  if (!HasInt8DotProduct(IsaBits())) {
    throw plugin::Unsupported("i8 matmul is not offered on {}: without VNNI oneDNN's 16-bit sums saturate", IsaName());
  }
}

// Measured on 2.6.3 with avx512_core_bf16: the bf16 dot product (VDPBF16PS, and AMX by its documentation) flushes
// subnormal inputs and sums, the conversion to bf16 (VCVTNEPS2BF16) subnormal outputs.
std::string MatmulContract(const plugin::OpDesc& op, const std::string& implementation) {
  const MatmulSpec spec = plugin::ParseMatmul(op);
  if (spec.IsInteger()) {
    return IntegerContract({IntegerSum::Operator::kMatmul, spec.a.dtype, spec.b.dtype, spec.k}, implementation);
  }
  const bool is_narrow = spec.a.dtype == plugin::kBF16 || spec.b.dtype == plugin::kBF16;
  return "f32acc;det=yes" + FlushOfProducts(is_narrow, spec.y.dtype, implementation);
}

Problem MatmulProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const MatmulSpec spec = plugin::ParseMatmul(op);
  CheckOffered(spec);
  return OrUnsupported("matmul " + op.DTypesText() + " with these strides", [&] {
    Problem problem;
    problem.multiply_adds = static_cast<double>(spec.m * spec.n) * static_cast<double>(spec.k * spec.batch);
    const Md a = DescOf(spec.a, spec, spec.m, spec.k);
    const Md b = DescOf(spec.b, spec, spec.k, spec.n);
    const Md y = DescOf(spec.y, spec, spec.m, spec.n);
    problem.operands = {{DNNL_ARG_SRC, false, 0, a}, {DNNL_ARG_WEIGHTS, false, 1, b}, {DNNL_ARG_DST, true, 0, y}};
    dnnl::post_ops post_ops;
    if (spec.alpha != 1) AppendEltwise(post_ops, {dnnl::algorithm::eltwise_linear, static_cast<float>(spec.alpha)});
    if (spec.c.input >= 0) {
      post_ops.append_sum(static_cast<float>(spec.beta));
      problem.preload = Operand{DNNL_ARG_DST, false, 2, DescOf(spec.c, spec, spec.m, spec.n)};
    }
    std::optional<Md> bias;
    if (spec.bias.input >= 0) {
      const Md desc = BiasDesc(spec);
      int argument = DNNL_ARG_BIAS;
      if (spec.alpha != 1) {  // oneDNN would scale its own bias too
        argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1;
        post_ops.append_binary(dnnl::algorithm::binary_add, desc);
      } else {
        bias = desc;
      }
      problem.operands.push_back({argument, false, static_cast<size_t>(spec.bias.input), desc});
    }
    if (spec.IsInteger()) problem.keeps_promise = std::not_fn(SaturatesSumsOfBytes);
    dnnl::primitive_attr attr = StrictAttributes();
    attr.set_post_ops(post_ops);
    problem.descriptor = MatmulDescriptor(engine, a, b, bias ? &*bias : nullptr, y, attr);
    return problem;
  });
}

constexpr plugin::DType kMatmulTypes[] = {plugin::kF32, plugin::kBF16, plugin::kI8};
constexpr Row kMatmulRows[] = {{{"matmul", kMatmulTypes, ""}, MatmulContract, Alone<MatmulProblem>}};

}  // namespace

std::span<const Row> MatmulRows() {
  return kMatmulRows;
}

}  // namespace onednn
