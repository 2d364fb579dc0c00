// SPDX-License-Identifier: Apache-2.0
// Sums of products with an anchor (the pre-rounding of Demmel and Nguyen, "Parallel reproducible summation", IEEE
// Trans. Comput. 64(7), 2015). With C = 1.5 * 2^e, and 2^e so large that no partial sum of a block moves C + sum out of
// [2^e, 2^(e+1)), all values of acc are multiples of g = 2^(e-52), and a step is
//   t = RN(acc + a b),  q = t - acc exactly,  r = RN(a b - q),  lo = RN(lo + r),  acc = t.
// acc - C is then the exact sum of the q. |a b - q| <= g / 2, so that r loses at most 2^-54 g (nothing where products
// are exact in double), and a sum of n such terms into lo at most n * n / 2 * 2^-53 g (1 + n u): a block of n terms
// loses at most n (n + 2) 2^-54 g. Blocks are added up in double-double, 3 * 2^-106 relative to the sum each.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/gemm/gemm_operand.h"
#include "golden/gemm/gemm_panels.h"

namespace assay {

inline constexpr int64_t kAnchorBlock = 256;  // terms; a multiple of kSigmaPanel

// Powers of two from which the anchors of a product follow: C(i, j) = 1.5 * scale * rows[i] * cols[j].
class Anchors {
 public:
  Anchors(const GemmOperand& a, const GemmOperand& b);
  // The anchors of a strip into sums.anchor. False: one of them would leave double's range.
  bool Set(const int64_t (&rows)[kStripRows], int64_t batch, int64_t col, StripSums& sums) const;
  // The bound of one element, given its anchor and a bound on its magnitude.
  double ErrorOf(double anchor, double magnitude) const;

 private:
  int64_t n_;
  double scale_, block_loss_, blocks_;
  std::vector<double> rows_, cols_;  // at least the largest magnitude of each row of a, and column of b; [batch, ...]
};

// A bound is good enough below this part of the magnitude: a thousandth of what double's own rounding is.
inline constexpr double kAnchorEnough = 0x1p-70;

// Sums one strip with sums.anchor into hi, lo, mag, sum and sum_squares; the samples are not scaled.
void AnchorStrip(const StripInput& in, StripSums& sums);

}  // namespace assay
