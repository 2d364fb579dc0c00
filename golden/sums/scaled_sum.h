// SPDX-License-Identifier: Apache-2.0
// Sums whose terms or total no double holds: significands in double-double, with one exponent for all of them. Slow;
// for the few elements whose magnitude leaves double's range.
#pragma once

#include <cstdint>

#include "golden/dd/dd.h"
#include "golden/golden.h"

namespace assay {

// From this S on the other sums of golden values promise nothing: a partial sum may have overflowed.
inline constexpr double kBeyondDouble = 0x1p1022;

class ScaledSum {
 public:
  // The product of up to three factors. One that is not finite makes the sum useless: Store then does nothing.
  void Add(double a, double b = 1, double c = 1);

  // Makes the sum over `divisor` element i of a golden with wide planes: value, error, magnitude (at most the largest
  // double) and sigma, and the planes "positive_terms" and "negative_terms", S of the terms of either sign. Infinite
  // where no order of f64 operations stays finite.
  void Store(Golden& golden, int64_t i, double divisor = 1) const;

 private:
  void Rescale(int exponent);

  DD total_;
  double positive_ = 0, negative_ = 0;
  int exponent_ = 0;  // of all of them
  int64_t terms_ = 0;
  bool finite_ = true;
};

}  // namespace assay
