// SPDX-License-Identifier: Apache-2.0
// A graph in 400 bits: the independent judge of what is computed from formulas.
#pragma once

#include <mpfr.h>

#include <span>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::test {

// A number of 400 bits that can be copied.
class Real {
 public:
  Real(double value = 0) { mpfr_init2(x, 400), mpfr_set_d(x, value, MPFR_RNDN); }  // NOLINT: a double is one
  Real(const Real& other) { mpfr_init2(x, 400), mpfr_set(x, other.x, MPFR_RNDN); }
  Real& operator=(const Real& other) { return mpfr_set(x, other.x, MPFR_RNDN), *this; }
  ~Real() { mpfr_clear(x); }
  double Rounded() const { return mpfr_get_d(x, MPFR_RNDN); }
  double DistanceFrom(double value, double value_lo) const;  // |value + value_lo - this|, rounded up

  mpfr_t x;
};

Real ExactMap(formula::Function function, std::span<const Real* const> x);
std::vector<Real> EvaluateExactly(const formula::Graph& graph, const formula::OutputInfo& output,
                                  std::span<const std::vector<double>> inputs);

}  // namespace assay::test
