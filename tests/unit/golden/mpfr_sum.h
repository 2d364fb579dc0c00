// SPDX-License-Identifier: Apache-2.0
// Sums with 256 bits, the reference that golden values are held against.
#pragma once

#include <mpfr.h>

namespace assay::test {

class Mpfr {
 public:
  Mpfr() { mpfr_init2(x, 256), mpfr_set_zero(x, 1); }
  ~Mpfr() { mpfr_clear(x); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_t x;
};

class ReferenceSum {
 public:
  void Add(double value) { AddProduct(value, 1); }
  void AddProduct(double a, double b);
  double ErrorOf(double value, double value_lo) const;  // |value + value_lo - sum|, rounded up
  double Magnitude() const;                             // sum of |terms|, rounded to nearest
  mpfr_srcptr sum() const { return sum_.x; }

 private:
  Mpfr sum_, magnitude_;
};

// |value + value_lo - reference|, rounded up.
double DistanceFrom(mpfr_srcptr reference, double value, double value_lo);

}  // namespace assay::test
