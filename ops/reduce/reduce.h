// SPDX-License-Identifier: Apache-2.0
// Parts of the operator reduce (reduce.cc): y[kept axes] = kind over the reduced axes of x.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kProd, kL2, kArgmax, kArgmin, kLogSumExp };
std::optional<ReduceKind> ParseReduceKind(std::string_view name);
inline bool IsArg(ReduceKind kind) {
  return kind == ReduceKind::kArgmax || kind == ReduceKind::kArgmin;
}
// Selections: the result is one of the inputs or its index, exactly.
inline bool IsSelection(ReduceKind kind) {
  return kind == ReduceKind::kMax || kind == ReduceKind::kMin || IsArg(kind);
}
inline bool WantsSmallest(ReduceKind kind) {
  return kind == ReduceKind::kMin || kind == ReduceKind::kArgmin;
}

// The attributes of a bound reduction. Rows are the output's elements in order; a row's terms are numbered row-major
// over the reduced axes, in the order of the shape.
struct ReduceArgs {
  explicit ReduceArgs(const Problem& problem);
  int64_t OffsetOfRow(int64_t row) const;                       // of the row's term 0 in x
  int64_t OffsetOfTerm(int64_t k) const;                        // to add for term k
  std::vector<int64_t> OffsetsOfTerms() const;                  // of all
  std::vector<double> Rows(const Tensor& x) const;              // [rows, terms], dense
  std::vector<double> Row(const Tensor& x, int64_t row) const;  // [terms]

  ReduceKind kind = ReduceKind::kSum;
  bool tie_any = false;
  bool ignore_nan = false;
  Shape shape;                // of x
  Shape strides;              // of x, in elements
  std::vector<int64_t> kept;  // axes, ascending
  std::vector<int64_t> reduced;
  int64_t rows = 1, terms = 1;
  bool dense_rows = false;  // a row's terms lie side by side, and the rows one behind the other
};

// The index that max, min, argmax and argmin select: the first best one; NaN beats everything under nan=propagate and
// loses under nan=ignore (a row of NaN gives 0).
int64_t SelectedTerm(const ReduceArgs& op, std::span<const double> row);

// Calls use(first, numbers) for stretches of the terms [begin, end) of a row in their order, so that a row of any
// length takes no memory. Number: double, or int64_t of integers.
template <class Number, class Use>
void ForStretches(const ReduceArgs& op, const Tensor& x, int64_t row, int64_t begin, int64_t end, const Use& use) {
  constexpr int64_t kStretch = 1 << 16;
  const int64_t size = SizeOf(x.dtype()), origin = op.OffsetOfRow(row);
  std::vector<Number> numbers(static_cast<size_t>(std::min(kStretch, end - begin)));
  const auto read = [&](int64_t offset, std::span<Number> to) {
    const std::byte* from = x.data() + (origin + offset) * size;
    if constexpr (std::is_same_v<Number, double>) {
      ToF64(x.dtype(), from, to);
    } else {
      ToI64(x.dtype(), from, to);
    }
  };
  for (int64_t first = begin; first < end; first += kStretch) {
    const auto part = std::span(numbers).first(static_cast<size_t>(std::min(kStretch, end - first)));
    if (op.dense_rows) {
      read(first, part);
    } else {
      for (size_t k = 0; k < part.size(); ++k)
        read(op.OffsetOfTerm(first + static_cast<int64_t>(k)), part.subspan(k, 1));
    }
    use(first, std::span<const Number>(part));
  }
}

// A term with its number.
struct RowTerm {
  int64_t index = -1;
  double number = 0;
};
// The term that SelectedTerm selects among all of a row but one; `without`: -1 leaves none out.
RowTerm SelectFromRow(const ReduceArgs& op, const Tensor& x, int64_t row, int64_t without = -1);

// Whether judging the problem's results reads terms by ForStretches alone, and so needs no memory for each. False of
// other operators.
bool ReducesInStretches(const Problem& problem);

// Planes beyond value, magnitude and error: l2 "inverse" (1 / |y|), prod "log2_up", "log2_down" (both >= 0),
// "lost_infinity"; logsumexp "spread", "log_part", "mean_rank"; "subnormal_mass" where subnormal inputs change the
// result when they are flushed; selections "nan_inputs" and "subnormal_winner" flags, "other_policy": the result under
// the other policy for NaN, where a row holds one.
Golden ReduceGolden(const Problem& problem, const Tensor& x, Tier tier);

// Sums and products of integers, whose results are those modulo 2^bits of the output's type, and what i64 selects. Sums
// of i8 as i32 do not overflow: they are ReduceGolden's and have a twin.
bool ReducesIntegers(const Problem& problem);
Golden FoldIntegers(const Problem& problem, const Tensor& x);
// Replaces places of equal integers by the golden ones.
void CanonicaliseIntegers(const ReduceArgs& op, const Tensor& x, std::span<int64_t> places);
std::vector<Mutant> OmittedIntegers(const Problem& problem, const Tensor& x, std::span<const int64_t> outputs);

// How far the logarithm of a running sum of n exponentials of this mean rank (ops/exp_error.h) may be off when their
// exponents are exact; infinity: anywhere.
double LogOfSumError(const Contract& contract, double n, double mean_rank);

BoundModel ReduceBound(const Problem& problem, const Golden& golden, const Contract& contract);

std::optional<Twin> ReduceTwin(const Problem& problem, const Contract& contract, int variant);
int ReduceTwinVariants(const Problem& problem, const Contract& contract);

// Twins of a mean, with a tolerance that every legal way to scale keeps; none where that would hide a missing term.
std::optional<Twin> MeanTwin(const Problem& problem, const Contract& contract, int variant);
int MeanTwinVariants(const Problem& problem, const Contract& contract);

// Twins of equal terms, of which a variant shows as many as let one missing be seen.
std::optional<Twin> L2Twin(const Problem& problem, const Contract& contract, int variant);
std::optional<Twin> LogSumExpTwin(const Problem& problem, const Contract& contract, int variant);
int WindowTwinVariants(const Problem& problem, const Contract& contract);

// A twin with a tolerance is one only if a missing term is this many times the tolerance.
inline constexpr double kTwinDetectable = 4;
// One accumulator-side operation of that many ulp at the end, then the output's rounding, in ulp of the output.
double FinalTolerance(const Contract& contract, DType out, double acc_ulps);

// x whose term k of row r is term(r, k).
template <class Term>
Tensor FillRows(const ReduceArgs& op, const Operand& operand, const Term& term) {
  Tensor x(operand.dtype, operand.shape);
  std::vector<double> values(static_cast<size_t>(x.size()));
  const std::vector<int64_t> offsets = op.OffsetsOfTerms();
  for (int64_t row = 0; row < op.rows; ++row) {
    double* to = values.data() + op.OffsetOfRow(row);
    for (int64_t k = 0; k < op.terms; ++k) to[offsets[k]] = term(row, k);
  }
  x.SetDoubles(values);
  return x;
}

std::vector<Mutant> ReduceOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                       std::span<const int64_t> outputs);

std::vector<SliceAxes> ReduceSlices(const Problem& problem);
std::vector<int> ReduceScaledInputs(const Problem& problem);
std::vector<Relation> ReduceRelations(const Operator& op, const Problem& problem);

CaseSpace ReduceSpace();

}  // namespace assay
