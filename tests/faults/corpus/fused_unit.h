// SPDX-License-Identifier: Apache-2.0
// Matrix units that add a block of products and the running sum at once, after aligning all of them to the largest
// exponent and cutting what lies below F fraction bits. Parameters as published: Xie et al., "Bit-Accurate Modeling of
// GPU Matrix Multiply-Accumulate Units" (arXiv 2511.10909); Khattak and Mikaitis (arXiv 2512.07004).
#pragma once

#include <cstdint>

namespace corpus {

struct FusedUnit {
  int block = 4;           // products per step
  int fraction_bits = 23;  // F
  // False: the running sum is one of the aligned terms and the f32 result is truncated. True (CDNA3): the products'
  // sum is rounded down to F bits below the larger of it and the running sum, and the f32 result to nearest.
  bool adds_carry_apart = false;
  int result_bits = 24;  // significant bits that the f32 result keeps; what lies below is cut off
};

// sum a[i] b[i] in steps of the unit. Products of f16, bf16 and tf32 values are exact in the double that holds them.
float FusedDot(const FusedUnit& unit, const float* a, const float* b, int64_t k);

}  // namespace corpus
