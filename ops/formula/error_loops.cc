// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/error_loops.h"

#include <cmath>
#include <limits>

#include "harness/core/base/multiversion.h"

namespace assay::formula {

ASSAY_MULTIVERSION void AddScaled(const double* __restrict slope, const double* __restrict g, double* __restrict to,
                                  double* __restrict residue, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double part = slope[i] * g[i];
    to[i] += part;
    residue[i] += std::fabs(part);
  }
}

ASSAY_MULTIVERSION void AddMagnitudes(const double* __restrict slope, const double* __restrict r, double* __restrict to,
                                      int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += slope[i] == 0 ? 0 : std::fabs(slope[i]) * r[i];  // r may be infinite
}

ASSAY_MULTIVERSION void AddSquares(const double* __restrict slope, const double* __restrict r, double* __restrict to,
                                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += (slope[i] * r[i]) * (slope[i] * r[i]);
}

// r of the first order in `to`, symbols' magnitudes in `linear` (squares of both in quadrature).
ASSAY_MULTIVERSION void JoinParts(bool quadrature, const double* __restrict residue, const double* __restrict curve,
                                  const double* __restrict amplify, double* __restrict linear, double* __restrict r,
                                  int64_t n) {
  if (quadrature) {
    for (int64_t i = 0; i < n; ++i) {
      linear[i] = std::sqrt(linear[i] + r[i]);
      r[i] = std::sqrt(r[i]) + curve[i];
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    r[i] += kResidue * residue[i];
    linear[i] += r[i];
    const double rest = curve[i] + (amplify[i] == 0 ? 0 : amplify[i] * linear[i]);
    r[i] += rest;
    linear[i] += rest;
  }
}

ASSAY_MULTIVERSION void JoinSymbol(bool quadrature, const double* __restrict g, double* __restrict reach, int64_t n) {
  if (quadrature) {
    for (int64_t i = 0; i < n; ++i) reach[i] = std::sqrt(reach[i] * reach[i] + g[i] * g[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) reach[i] += std::fabs(g[i]);
  }
}

ASSAY_MULTIVERSION void AddSizes(bool quadrature, const double* __restrict g, double* __restrict to, int64_t n) {
  if (quadrature) {
    for (int64_t i = 0; i < n; ++i) to[i] += g[i] * g[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] += std::fabs(g[i]);
  }
}

// Whether all |v| + reach are below the range; `most`: the largest reach then.
ASSAY_MULTIVERSION bool AllWithin(const double* v, const double* reach, double range, int64_t n, double& most) {
  int64_t beyond = 0;
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) beyond += std::fabs(v[i]) + reach[i] < range ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) largest = reach[i] > largest ? reach[i] : largest;
  most = largest;
  return beyond == 0;
}

ASSAY_MULTIVERSION bool AnyNonFinite(const double* x, int64_t n) {
  int64_t beyond = 0;
  for (int64_t i = 0; i < n; ++i) beyond += std::fabs(x[i]) <= std::numeric_limits<double>::max() ? 0 : 1;
  return beyond != 0;
}

ASSAY_MULTIVERSION void RoundEach(const RoundingTerms& terms, const MapStep& step, const Operands& reach,
                                  const double* linear, double* r) {
  const double relative = terms.relative, absolute = terms.absolute;
  const double *z = step.z, *x = step.x[0], *y = step.x[1], *of_x = reach[0], *of_y = reach[1];
  const int64_t n = step.n;
  if (terms.loose) {
    // Each by itself: the largest numbers leave no room for a sum.
    for (int64_t i = 0; i < n; ++i) {
      r[i] += relative * std::fabs(x[i]) + relative * std::fabs(y[i]) + relative * (of_x[i] + of_y[i]) + absolute;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) r[i] += relative * std::fabs(z[i]) + relative * linear[i] + absolute;
  }
  if (terms.lambda == 0) return;
  const double lambda = terms.lambda, tiny = terms.tiny, of_zero = terms.vanishes ? 0 : lambda;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(z[i]);
    const double lost = size + linear[i] == 0 ? of_zero : lambda;
    r[i] += terms.regroups || size - linear[i] < tiny ? lost : 0;
  }
  // A product in double is zero where it underflows, too, of factors that are not.
  for (int64_t i = 0; terms.vanishes && terms.multiplies && i < n; ++i) {
    if (z[i] == 0 && linear[i] == 0 && x[i] != 0 && y[i] != 0) r[i] += lambda;
  }
}

ASSAY_MULTIVERSION void RoundInQuadrature(const RoundingTerms& terms, const MapStep& step, double* r) {
  const double square = terms.relative * terms.relative;
  const double *z = step.z, *x = step.x[0], *y = step.x[1];
  if (terms.loose) {
    for (int64_t i = 0; i < step.n; ++i) r[i] = std::sqrt(r[i] * r[i] + square * (x[i] * x[i] + y[i] * y[i]));
  } else {
    for (int64_t i = 0; i < step.n; ++i) r[i] = std::sqrt(r[i] * r[i] + square * z[i] * z[i]);
  }
}

void RoundTail(bool quadrature, const TailTerms& terms, const MapStep& step, const double* linear, double* r) {
  const double most = std::max(terms.own, terms.of_f + terms.of_both);
  for (int64_t i = 0; i < step.n; ++i) {
    const double rounding = terms.Of(step.z[i]);
    r[i] = quadrature ? std::hypot(r[i], rounding) : r[i] + rounding + most * linear[i];
  }
}

}  // namespace assay::formula
