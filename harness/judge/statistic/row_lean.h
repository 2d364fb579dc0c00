// SPDX-License-Identifier: Apache-2.0
// Rows that are all off to the same side. Each row has a factor in common with its golden values, the c of least
// squares: sum(e y) / sum(y^2). Roundings to nearest make c positive in one row and negative in the next. A wrong
// constant, a lost term or a divisor of n - 1 give it the same sign in all rows, though it may be far below a single
// rounding, or what the roundings of a long sum are permitted.
//
// The signs of c are a sign test: of independent rows, one tensor in 10^6 leans by chance. Legal kernels can lean, too.
// wide_row_lean.h says by how much. Where a contract lets kernels store intermediates in 16 bits nothing is said if
// numbers that rows store are few or err to one side in these data, the output's roundings do, or the mean is within
// what the accumulator may cost and twice what these roundings and what is stored in 16 bits shift: constants, weights
// (which all rows share, so that rows are not independent) and numbers of single elements.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

// In unit roundoffs of the stored type: what leans by less may be products of two roundings.
inline constexpr double kLeastRowLean = 1.0 / 32;

struct RowLean {
  int64_t rows = 0, to_one_side = 0;  // equal rows count once
  double factor = 0;                  // c in the mean over these rows
  double permitted = 0;  // the largest legal c in the mean over these rows; 0 where intermediates are stored
  std::string stored;    // the type of intermediates; "": none is narrower than the accumulator
  std::string Text() const;
};

// nullopt: they do not lean, or rows of this operator share nothing.
std::optional<RowLean> FindRowLean(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, const ElementJudge& judge, const Contract& contract,
                                   const Tensor& got);

}  // namespace assay
