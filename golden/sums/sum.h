// SPDX-License-Identifier: Apache-2.0
// Golden row reductions: the building blocks of reduce, and later of softmax and norms.
#pragma once

#include <cstdint>
#include <span>

#include "golden/golden.h"

namespace assay {

// Sums of the rows of x[rows, k] (dense, values already rounded to their storage type), in double-double in both
// tiers: value (+ value_lo in the reproducible tier), magnitude = sum |x|, sigma by 64-wide panels, error. With
// `squares` the terms are x^2 (exact products for types up to f32; error-free transformation for f64).
// `min_normal` > 0 adds the plane "subnormal_mass" when some 0 < |x| < min_normal. Infinities and NaN as in GoldenGemm.
Golden GoldenRowSums(std::span<const double> x, int64_t rows, int64_t k, Tier tier, bool squares, double min_normal,
                     bool wide);

// Products of the rows, in double-double with exponent tracking, so that no intermediate overflows: value, value_lo,
// error (relative 2^-103 k; infinite where the product is beyond double), and planes "log2_up" and "log2_down": log2 of
// the products of max(|x|,1) and min(|x|,1) over the finite factors. magnitude = |value|,
// sigma = 0.425 sqrt(k) |value|. The same bits on every machine.
Golden GoldenRowProducts(std::span<const double> x, int64_t rows, int64_t k, bool wide);

// log(sum exp(x - m)) + m with m the row's maximum. Planes: "spread" = sum p |x - m|, "log_part" = |LSE - m|,
// "mean_rank" = sum p times the number of larger terms; magnitude = sum p = 1. sigma joins the sum of the exponentials
// (by panels), the differences x - m, the logarithm and the last addition. error from the working precision. All -inf
// gives -inf, any +inf gives +inf, NaN propagates.
Golden GoldenRowLogSumExp(std::span<const double> x, int64_t rows, int64_t k, Tier tier, bool wide);

}  // namespace assay
