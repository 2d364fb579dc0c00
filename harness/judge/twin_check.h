// SPDX-License-Identifier: Apache-2.0
// The exact channel (harness/judge/README.md#exact-twin): an output on the twin's coded integers equals its expectation
// bit for bit, or within the few ulp that a final division may cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"
#include "harness/judge/metrics.h"
#include "ops/operator.h"

namespace assay {

struct TwinResult {
  int variant = 0;
  int64_t elements = 0;
  int64_t wrong = 0;
  int64_t first = -1;  // first wrong element; expected and got are its values
  double expected = 0, got = 0;
  double max_ulp = 0;                  // largest finite difference in ulp of the output at the expected value
  double tolerance_ulp = 0;            // of the first wrong element, where elements have their own
  double margin = 0;                   // largest difference over the permitted one, of the finite differences
  double rms = 0;                      // of all errors, each over its tolerance
  double rms_limit = 0;                // what the twin permits that to be; 0: anything
  bool nonfinite = false;              // some value is not finite although the other is, or differs in sign
  std::vector<WorstElement> examples;  // the first wrong ones, up to kWorstCount
  std::string where;                   // localised
  std::string code;                    // cause deduced from the wrong values; "" if they do not agree on one
  // Precision p of an accumulator that explains all wrong sums: only sums beyond 2^p are wrong, and all of these have p
  // significant bits (24 f32, 11 f16, 8 bf16). 0 if none does.
  int sum_bits = 0;

  bool Holds() const { return wrong == 0 && !IsTooSpread(); }
  bool IsTooSpread() const { return rms_limit > 0 && rms > rms_limit; }
  double Margin() const;  // largest difference over the permitted one; 0 or infinity when none is permitted
  std::string Reason(const Shape& shape) const;  // precondition: !Holds()
};

// Precondition: got has as many values as twin.expected.
TwinResult CheckTwin(const Twin& twin, int variant, const Tensor& got);

// Whether one value is right. NaN equals NaN, signed zeros are equal.
bool TwinAccepts(double expected, double got, double tolerance_ulp, DType dtype);

}  // namespace assay
