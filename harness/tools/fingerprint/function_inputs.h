// SPDX-License-Identifier: Apache-2.0
// Numbers of a type in pairs x and -x of ascending magnitude: all of them, or as many of each power of two.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"

namespace assay {

class FunctionInputs {
 public:
  // All numbers of a type of up to 16 bits, else 2^22 of a wider one.
  static FunctionInputs MakeSample(DType type);
  // Precondition: a type of up to 32 bits.
  static FunctionInputs MakeAll(DType type);

  int64_t pairs() const { return pairs_; }
  DType type() const { return type_; }
  // Fills x with pairs `first` and up: the positive numbers, then as many negative ones, infinity and NaN included.
  void Fill(int64_t first, Tensor& x) const;

 private:
  FunctionInputs(DType type, int64_t pairs);

  DType type_;
  int64_t pairs_;
  int skipped_bits_;  // log2 of the distance of neighbouring patterns
};

}  // namespace assay
