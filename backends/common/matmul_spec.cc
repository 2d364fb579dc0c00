// SPDX-License-Identifier: Apache-2.0
#include "backends/common/matmul_spec.h"

#include <cmath>
#include <utility>

#include "backends/common/status.h"

namespace plugin {
namespace {

// The last two axes of `tensor` as a [rows, columns] matrix, or as its transpose when `transposed`; a leading batch
// axis when there is a batch.
Matrix MatrixOf(const Tensor& tensor, int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  std::vector<int64_t> expected{transposed ? columns : rows, transposed ? rows : columns};
  if (batch != 1) expected.insert(expected.begin(), batch);
  if (tensor.shape != expected) {
    throw Failure("matmul: operand '{}' has shape {}, but the attributes imply {}", tensor.name,
                  ShapeText(tensor.shape), ShapeText(expected));
  }
  const auto& s = tensor.strides;
  Matrix matrix{-1, tensor.dtype, batch != 1 ? s[0] : 0, s[s.size() - 2], s[s.size() - 1]};
  if (transposed) std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

Matrix BiasOf(const Tensor& tensor, int64_t n) {
  if (tensor.shape == std::vector<int64_t>{n}) return {-1, tensor.dtype, 0, 0, tensor.strides[0]};
  throw Failure("matmul: operand '{}' has shape {}, but bias must be [{}]", tensor.name, ShapeText(tensor.shape), n);
}

}  // namespace

MatmulSpec ParseMatmul(const OpDesc& op) {
  MatmulSpec s;
  s.m = op.AttrInt("m"), s.n = op.AttrInt("n"), s.k = op.AttrInt("k"), s.batch = op.AttrInt("batch");
  s.alpha = op.AttrFloat("alpha"), s.beta = op.AttrFloat("beta");
  const std::string& epilogue = op.AttrString("epilogue");
  if (epilogue != "fused" && epilogue != "rounded") {
    throw Failure("matmul: epilogue='{}' is neither fused nor rounded", epilogue);
  }
  s.epilogue_rounded = epilogue == "rounded";
  const bool has_bias = op.AttrInt("bias") != 0;
  const size_t wanted = 2 + (s.beta != 0 ? 1 : 0) + (has_bias ? 1 : 0);
  if (op.inputs().size() != wanted || op.outputs().size() != 1) {
    throw Failure(
        "matmul: {} inputs and {} outputs; expected {} inputs (a, b, c when beta != 0, bias when "
        "bias=1) and 1 output",
        op.inputs().size(), op.outputs().size(), wanted);
  }
  s.a = MatrixOf(op.inputs()[0], s.batch, s.m, s.k, op.AttrInt("transa") != 0);
  s.b = MatrixOf(op.inputs()[1], s.batch, s.k, s.n, op.AttrInt("transb") != 0);
  s.y = MatrixOf(op.outputs()[0], s.batch, s.m, s.n, false);
  s.a.input = 0, s.b.input = 1;
  if (s.beta != 0) s.c = MatrixOf(op.inputs()[2], s.batch, s.m, s.n, false), s.c.input = 2;
  if (has_bias) s.bias = BiasOf(op.inputs().back(), s.n), s.bias.input = static_cast<int>(wanted) - 1;
  return s;
}

std::string IntegerMatmulWhyNot(const MatmulSpec& s, double most_beta) {
  // The longest k whose int32 sum cannot overflow: 2^14 is the largest |product| of two i8.
  constexpr int64_t kMostK = (int64_t{1} << 17) - 1;
  if (s.a.dtype != kI8 || s.b.dtype != kI8) return "the only integer matmul is i8-i8-i32";
  if (s.k > kMostK) return fmt::format("k={} can overflow the int32 accumulator; at most {}", s.k, kMostK);
  const bool integer_beta = std::abs(s.beta) <= most_beta && s.beta == std::trunc(s.beta);
  if (s.alpha != 1 || !integer_beta) return "an integer matmul takes alpha=1 and an integer beta only";
  for (const Matrix* addend : {&s.c, &s.bias}) {
    if (addend->input >= 0 && addend->dtype != kI32 && addend->dtype != kI8) {
      return "an integer matmul adds i32 or i8 operands only";
    }
  }
  return "";
}

}  // namespace plugin
