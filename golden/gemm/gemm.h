// SPDX-License-Identifier: Apache-2.0
// Golden matrix products with per-element magnitude, error deviation and certified error.
#pragma once

#include <cstdint>

#include "golden/golden.h"
#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"

namespace assay {

// y[b,m,n] = sum_k a[b,m,k] b[b,k,n]; a is stored [b,k,m] when transa, b is stored [b,n,k] when transb. Dense.
struct GemmShape {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transa = false, transb = false;
};

// The golden's shape is [m, n], or [batch, m, n] when batch > 1. Integer operands give exact = true and magnitude
// alone; precondition: max|a| max|b| k < 2^53. Float operands: value, magnitude, sigma, error; subnormal operands add
// the plane "subnormal_mass" (sum of |a_k b_k| with a or b subnormal in its type). fast: double over 64-wide panels,
// |value - exact| <= gamma_{K+2}(2^-53) S; magnitude in float, rounded up. f64 operands always take
// the reproducible tier. Infinite or NaN operands are carried into value by IEEE rules and left out of magnitude.
// `wide` planes when out_wide. Deterministic for a given machine; the reproducible tier on every machine.
Golden GoldenGemm(const GemmShape& shape, const Tensor& a, const Tensor& b, Tier tier, bool out_wide);

}  // namespace assay
