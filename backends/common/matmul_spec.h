// SPDX-License-Identifier: Apache-2.0
// A matmul description with its operands found and its shapes checked. y = alpha AB + beta c + bias.
#pragma once

#include <cstdint>
#include <string>

#include "backends/common/op_desc.h"

namespace plugin {

// An operand as a stack of matrices; strides in elements. Without transposition: the caller sees the logical matrix.
struct Matrix {
  int input = -1;  // position among the inputs; -1: absent (or the output)
  DType dtype;
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
};

struct MatmulSpec {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  double alpha = 1, beta = 0;
  bool epilogue_rounded = false;  // the product is rounded to the output type before the epilogue adds
  Matrix a, b, c, y;
  Matrix bias;  // row_stride 0

  bool IsEmpty() const { return m < 1 || n < 1 || k < 1 || batch < 1; }
  bool IsInteger() const { return y.dtype == kI32; }
  bool IsF64() const { return a.dtype == kF64 || b.dtype == kF64 || y.dtype == kF64; }
};

// Throws Failure naming the operand or attribute that contradicts the operator's definition.
MatmulSpec ParseMatmul(const OpDesc& op);

// Why i8-i8-i32 arithmetic in int32 does not compute this; "" when it does. beta is an integer up to `most_beta`.
std::string IntegerMatmulWhyNot(const MatmulSpec& s, double most_beta = 65536);

}  // namespace plugin
