// SPDX-License-Identifier: Apache-2.0
// A matrix operand made ready for the engines: doubles, not transposed, finite, with what the bounds need to know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "golden/big_buffer.h"
#include "golden/golden.h"
#include "harness/core/data/tensor.h"

namespace assay {

struct NonFiniteEntry {
  int64_t index = 0;  // into GemmOperand::values
  double value = 0;
};

struct GemmOperand {
  int64_t batch = 1, rows = 1, cols = 1;
  DType dtype = DType::kF32;
  BigBuffer<double> values;               // [batch, rows, cols]; infinities and NaNs replaced by zero
  std::span<const float> floats;          // instead of values: the tensor's own
  std::vector<NonFiniteEntry> nonfinite;  // where they were, in index order
  double max_abs = 0;                     // of the finite entries
  double min_abs = 0;                     // of the finite entries that are not zero; 0 when there are none
  bool has_subnormal = false;             // in the operand's own type

  void Widen();  // floats into values
};

// The stored tensor is [batch, rows, cols], or [batch, cols, rows] when `transposed`.
// `keep_floats`: of an f32 tensor that is finite and not transposed the operand has `floats`, while the tensor lives.
GemmOperand LoadOperand(const Tensor& tensor, int64_t batch, int64_t rows, int64_t cols, bool transposed,
                        bool keep_floats = false);

// Makes an operand of numbers in double, [batch, rows, cols], that come from no type in which some are subnormal.
GemmOperand LoadNumbers(BigBuffer<double> values, int64_t batch, int64_t rows, int64_t cols);

// The entries that are subnormal in the operand's type (`subnormal`), or all the others; the rest is zero.
BigBuffer<double> SelectSubnormal(const GemmOperand& operand, bool subnormal);

// y += the terms with an infinite or NaN factor, by IEEE rules: NaN wins, opposite infinities give NaN. `y` holds the
// finite part, [batch, m, n].
void AddNonFiniteTerms(const GemmOperand& a, const GemmOperand& b, Golden& golden);

}  // namespace assay
