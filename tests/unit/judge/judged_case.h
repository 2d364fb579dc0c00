// SPDX-License-Identifier: Apache-2.0
// A golden value, a bound and an output to judge, made from random numbers, and a judgement of it written down a second
// time: long double, one element after the other, from the definitions alone.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/judge/metrics.h"

namespace assay {

struct JudgedCaseSpec {
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t seed = 1;
  bool low_parts = false;   // value_lo, as in the reproducible tier
  bool extra_term = false;  // a second term in the bound
  bool wide = false;        // f64 planes
  bool special = false;     // NaN, infinities, out-of-range values in golden and output
  bool exact = false;       // BoundModel::exact
  double noise = 0.3;       // standard deviation of the output's error in units of A
};

struct JudgedCase {
  explicit JudgedCase(const JudgedCaseSpec& spec);
  JudgedCase(const JudgedCase&) = delete;  // the bound points into the golden value

  ErrorMetrics Judge() const { return Measure(golden, bound, contract, got); }
  double GotValue(int64_t i) const { return got.ToDoubles()[static_cast<size_t>(i)]; }
  void SetGot(int64_t i, double value);
  int64_t values() const { return golden.size(); }

  Golden golden;
  Plane second;
  BoundModel bound;
  Contract contract;
  Tensor got;
};

struct NaiveMetrics {
  long double max_abs = 0, max_rel = 0, max_ulp = 0, sum_e2 = 0, sum_y2 = 0, margin = 0, sum_r2 = 0, max_r = 0;
  long double sum_bias = 0, sum_sigma2 = 0, sum_ulp2 = 0;
  int64_t finite = 0, violations = 0, nonfinite_mismatch = 0, zeros = 0;
  int64_t worst = -1;  // golden value index
  bool bit_exact = true;
};
NaiveMetrics MeasureNaively(const JudgedCase& c);

}  // namespace assay
