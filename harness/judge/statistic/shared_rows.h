// SPDX-License-Identifier: Apache-2.0
// Rows whose elements share one error (SharedRow in golden/bound/bound.h): of a probability the sum that all are
// divided by, of its logarithm what is subtracted from all. Its size is judged elsewhere. Here the row must have some
// common error rho that leaves no element further off than it may be alone:
//   |e_k - rho y_k| <= (half the output's spacing) + E_gold + t allowance_k,   or e_k - rho where rows are additive.
// Each element admits an interval of rho; t is the least one for which a row's intervals have a point in common. A
// correct row has t <= 1, whatever rho is.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/data/tensor.h"
#include "harness/judge/judge.h"

namespace assay {

struct SharedRowFinding {
  double margin = 0;                           // the largest t
  int64_t row = -1;                            // numbered row-major over the other axes; -1: none was judged
  std::string Text(const Shape& shape) const;  // of the output
};

// At most kMostSharedElements, of rows at equal distances. Precondition: the bound's statistic has a SharedRow.
inline constexpr int64_t kMostSharedElements = int64_t{1} << 22;
SharedRowFinding JudgeSharedRows(const ElementJudge& judge, const Tensor& got);

}  // namespace assay
