// SPDX-License-Identifier: Apache-2.0
#include "tests/support/mpfr.h"

#include <cmath>

namespace assay::test {

void Mpfr::AddProduct(double a, double b) {
  Mpfr product(a);
  mpfr_mul_d(product.x, product.x, b, MPFR_RNDN);
  mpfr_add(x, x, product.x, MPFR_RNDN);
}

double Mpfr::DistanceFrom(double value, double value_lo) const {
  Mpfr distance;
  mpfr_sub_d(distance.x, x, value, MPFR_RNDN);
  mpfr_sub_d(distance.x, distance.x, value_lo, MPFR_RNDN);
  return std::fabs(mpfr_get_d(distance.x, MPFR_RNDA));
}

void ReferenceSum::AddProduct(double a, double b) {
  Mpfr term;
  term.AddProduct(a, b);
  mpfr_add(sum_.x, sum_.x, term.x, MPFR_RNDN);
  mpfr_abs(term.x, term.x, MPFR_RNDN);
  mpfr_add(magnitude_.x, magnitude_.x, term.x, MPFR_RNDN);
}

}  // namespace assay::test
