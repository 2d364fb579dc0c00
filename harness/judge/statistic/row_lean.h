// SPDX-License-Identifier: Apache-2.0
// Rows that are all off to the same side. Each row has a factor in common with its golden values, the c of least
// squares: sum(e y) / sum(y^2). Roundings to nearest make c positive in one row and negative in the next. A wrong
// constant, a lost term or a divisor of n - 1 give it the same sign in all rows, though it may be far below a single
// rounding, or what the roundings of a long sum are permitted.
//
// The signs of c are a sign test: of independent rows, one tensor in 10^6 leans by chance. Legal kernels can lean, too.
// FindWideRowLean says by how much. Where a contract lets kernels store intermediates in 16 bits nothing is said if
// numbers that rows store are few or err to one side in these data, the output's roundings do, or the mean is within
// what the accumulator may cost and twice what these roundings and what is stored in 16 bits shift: constants, weights
// (which all rows share, so that rows are not independent) and numbers of single elements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"
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

// By how much sums in an accumulator may lean to one side in all rows, whatever the order of their terms.
//
// Share of the sum of the terms' sizes, of the sum that leans most. A running sum lies on a grid, so that adding a term
// rounds the term to it. What rounding all terms of a row to one grid loses is measured, over rows of the data and for
// each grid up to that of the whole sum; the largest loss counts, and how much it may be off by chance. Infinite where
// the terms of some row are not known.
// Precondition: the output has `rows` equal slices, one behind the other.
double MeasureSumLean(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                      const Contract& contract, int64_t rows);

// Rows that lean where nothing is stored in 16 bits: an epsilon of 1e-5 for 1e-6 makes all rows of an rms_norm smaller
// by 4.5e-6, which the roundings of a sum of 4,096 squares may do to each, but not to all of them.
//
// A row counts where its c is beyond what legal kernels may give to all rows: what functions, constants, weights and
// one rounding of each operation cost (Operator::LeanOfSlices), what sums lose to one side (MeasureSumLean), the
// output's rounding, and the squares of deviations, which have one sign. What is left has either sign alike in a legal
// row, so that one row in two counts at most. The size of random roundings is not asked.
//
// nullopt: they do not lean, or nothing is known of them: of outputs of fewer bits than f32, of data that do not look
// random, of contracts that the statistic says nothing of.
std::optional<RowLean> FindWideRowLean(const Operator& op, const Problem& problem, size_t output,
                                       std::span<const Tensor> inputs, const ElementJudge& judge,
                                       const Contract& contract, const Tensor& got);

}  // namespace assay
