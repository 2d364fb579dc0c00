// SPDX-License-Identifier: Apache-2.0
// Parts of the operator softmax (softmax.cc): y_j = exp(x_j - m) / l along one axis of x, m the largest x, l the sum of
// the exponentials; log: y_j = x_j - m - ln l.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

// The attributes of a bound softmax. Rows are numbered row-major over the other axes.
struct SoftmaxArgs {
  explicit SoftmaxArgs(const Problem& problem);
  int64_t Offset(int64_t row, int64_t k) const { return (row / inner * terms + k) * inner + row % inner; }
  int64_t RowOf(int64_t element) const { return element / (terms * inner) * inner + element % inner; }

  bool log = false;
  int64_t axis = 0;
  int64_t rows = 1, terms = 1, inner = 1;  // inner: elements from one term of a row to the next
};

// Terms of a row, from the element `first` on.
void ReadSoftmaxRow(const SoftmaxArgs& op, const Plane& plane, int64_t first, std::span<double> row);

// Planes beyond value, magnitude, sigma and error: x as "input.0"; and "masked", 1 in rows of nothing but -inf, where
// there are any. Such rows are NaN, by the formula; what a contract promises for them is its `masked` field. NaN or
// +inf make their row NaN.
Golden SoftmaxGolden(const Problem& problem, const Tensor& x, Tier tier);

// How far element k of the result for this row of x may be off before it is rounded to the output; infinity where
// nothing is promised.
double SoftmaxReach(const Problem& problem, const Contract& contract, const std::vector<double>& row, int64_t k);

BoundModel SoftmaxBound(const Problem& problem, const Golden& golden, const Contract& contract);

std::optional<Twin> SoftmaxTwin(const Problem& problem, const Contract& contract, int variant);

std::vector<Mutant> SoftmaxOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                        std::span<const int64_t> outputs);

std::vector<SliceAxes> SoftmaxSlices(const Problem& problem);
// The sum of the exponentials of each row, or its logarithm. Precondition: rows are contiguous.
SharedSteps SoftmaxSteps(const Problem& problem, const Golden& golden, const FloatFormat& format);
std::vector<Relation> SoftmaxRelations(const Operator& op, const Problem& problem);

CaseSpace SoftmaxSpace();

}  // namespace assay
