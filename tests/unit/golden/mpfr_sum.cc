// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/golden/mpfr_sum.h"

namespace assay::test {

void ReferenceSum::AddProduct(double a, double b) {
  Mpfr term;
  mpfr_set_d(term.x, a, MPFR_RNDN);
  mpfr_mul_d(term.x, term.x, b, MPFR_RNDN);
  mpfr_add(sum_.x, sum_.x, term.x, MPFR_RNDN);
  mpfr_abs(term.x, term.x, MPFR_RNDN);
  mpfr_add(magnitude_.x, magnitude_.x, term.x, MPFR_RNDN);
}

double ReferenceSum::ErrorOf(double value, double value_lo) const {
  return DistanceFrom(sum_.x, value, value_lo);
}

double ReferenceSum::Magnitude() const {
  return mpfr_get_d(magnitude_.x, MPFR_RNDN);
}

double DistanceFrom(mpfr_srcptr reference, double value, double value_lo) {
  Mpfr distance;
  mpfr_sub_d(distance.x, reference, value, MPFR_RNDN);
  mpfr_sub_d(distance.x, distance.x, value_lo, MPFR_RNDN);
  return mpfr_get_d(distance.x, MPFR_RNDA) < 0 ? -mpfr_get_d(distance.x, MPFR_RNDA) : mpfr_get_d(distance.x, MPFR_RNDA);
}

}  // namespace assay::test
