// SPDX-License-Identifier: Apache-2.0
// The loops of error propagation over arrays of equal length. `quadrature`: sums are of squares.
#pragma once

#include <cstdint>

#include "ops/formula/error.h"

namespace assay::formula {

// to += slope g, residue += |slope g|.
void AddScaled(const double* slope, const double* g, double* to, double* residue, int64_t n);
// to += |slope| r. r may be infinite where the slope is zero.
void AddMagnitudes(const double* slope, const double* r, double* to, int64_t n);
void AddSquares(const double* slope, const double* r, double* to, int64_t n);

// From errors of the first order, r in `r` and symbols' magnitudes in `linear` (squares of both in quadrature), to all
// of r and the reach, in `linear`.
void JoinParts(bool quadrature, const double* residue, const double* curve, const double* amplify, double* linear,
               double* r, int64_t n);

// reach joined with a symbol; and `to` += |g| or its square.
void JoinSymbol(bool quadrature, const double* g, double* reach, int64_t n);
void AddSizes(bool quadrature, const double* g, double* to, int64_t n);

bool AnyNonFinite(const double* x, int64_t n);

// Whether all |v| + reach are below the range; `most`: the largest reach then.
bool AllWithin(const double* v, const double* reach, double range, int64_t n, double& most);

// How one function rounds.
struct RoundingTerms {
  double relative = 0, absolute = 0, lambda = 0, tiny = 0;
  bool loose = false;
  bool vanishes = false;  // a result of zero without errors is exact
  bool multiplies = false;
  bool regroups = false;  // parts of a loose sum may be flushed, whatever the size of the sum
};

// r += what the function's own rounding adds; `linear`: the reach before it.
void RoundEach(const RoundingTerms& terms, const MapStep& step, const Operands& reach, const double* linear, double* r);
void RoundInQuadrature(const RoundingTerms& terms, const MapStep& step, double* r);

// r += the cost of 1 - f.
void RoundTail(bool quadrature, const TailTerms& terms, const MapStep& step, const double* linear, double* r);

}  // namespace assay::formula
