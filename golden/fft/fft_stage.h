// SPDX-License-Identifier: Apache-2.0
// One stage of a Stockham transform by decimation in frequency: for length = radix m,
//   out[(radix p + t) s + q] = w^(p t) sum_u e^(-2 pi i u t / radix) in[(p + u m) s + q],  w = e^(-2 pi i / length),
// for p < m, q < s. After all stages the result is in natural order, and the loop over q is contiguous.
#pragma once

#include <cstdint>

#include "golden/dd/dd.h"

namespace assay {

template <class R>
struct Stage {
  const R *re, *im;
  R *out_re, *out_im;
  const R *root_re, *root_im;  // e^(-2 pi i j / total), j < total
  int64_t total = 0;
  int64_t length = 0;  // what is left of total: total / length is the roots' step
  int64_t s = 0;
  int radix = 0;  // 2, 4, or an odd prime up to kLargestButterfly
};

void RunStage(const Stage<double>& stage);
void RunStage(const Stage<DD>& stage);

}  // namespace assay
