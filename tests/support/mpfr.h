// SPDX-License-Identifier: Apache-2.0
// Numbers with 400 bits, the independent judge of golden values: sums of products of doubles of ordinary size are exact
// in that. Exponents are unbounded for our purposes.
#pragma once

#include <mpfr.h>

namespace assay::test {

class Mpfr {
 public:
  explicit Mpfr(double value = 0) { mpfr_init2(x, 400), mpfr_set_d(x, value, MPFR_RNDN); }
  ~Mpfr() { mpfr_clear(x); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  void AddProduct(double a, double b);
  double Rounded() const { return mpfr_get_d(x, MPFR_RNDN); }
  double DistanceFrom(double value, double value_lo) const;  // |value + value_lo - this|, rounded up

  mpfr_t x;
};

class ReferenceSum {
 public:
  void Add(double value) { AddProduct(value, 1); }
  void AddProduct(double a, double b);
  double ErrorOf(double value, double value_lo) const { return sum_.DistanceFrom(value, value_lo); }
  double Magnitude() const { return magnitude_.Rounded(); }  // sum of |terms|, rounded to nearest
  const Mpfr& sum() const { return sum_; }

 private:
  Mpfr sum_, magnitude_;
};

}  // namespace assay::test
