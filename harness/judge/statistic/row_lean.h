// SPDX-License-Identifier: Apache-2.0
// Rows that are all off to the same side, judged by a contract that lets kernels store intermediates in 16 bits.
// Each row has a factor in common with its golden values, the c of least squares: sum(e y) / sum(y^2). Roundings to
// nearest of what a row stores make c positive in one row and negative in the next. A wrong constant, a lost term or a
// divisor of n - 1 give it the same sign in all rows, though it may be far below a single rounding.
//
// The signs of c over rows are a sign test, whatever the distribution of c: by chance one tensor in 10^6 leans. Two
// ways in which legal kernels lean are computed and excluded: numbers that rows store and that are the same few, or err
// to one side, in these data (rows of equal mean squares); and constants of the formula that are stored in 16 bits
// (twice what they shift).
#pragma once

#include <optional>
#include <string>

#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

inline constexpr double kRowLeanChance = 1e-6;
// In unit roundoffs of the stored type: what leans by less may be products of two roundings.
inline constexpr double kLeastRowLean = 1.0 / 32;

struct RowLean {
  int64_t rows = 0, to_one_side = 0;  // equal rows count once
  double factor = 0;                  // 1 + c in the mean over rows
  std::string stored;                 // the type of intermediates
  std::string Text() const;
};

// nullopt: they do not lean, the contract stores nothing, or rows of this operator share nothing.
std::optional<RowLean> FindRowLean(const Operator& op, const Problem& problem, const ElementJudge& judge,
                                   const Contract& contract, const Tensor& got);

}  // namespace assay
