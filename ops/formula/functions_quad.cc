// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/functions_quad.h"

#include <quadmath.h>

#include "ops/formula/library_functions.h"

namespace assay::formula {
namespace {

Quad Joined(DD x) {
  return static_cast<Quad>(x.hi) + static_cast<Quad>(x.lo);
}

DD Split(Quad x) {
  const auto hi = static_cast<double>(x);
  return {hi, static_cast<double>(x - static_cast<Quad>(hi))};
}

}  // namespace

// By the sum formula: beside a large high part 113 bits do not hold the low one.
DD SinOf(DD x) {
  Quad sine = 0, cosine = 0;
  sincosq(x.hi, &sine, &cosine);
  return Split(sine * cosq(x.lo) + cosine * sinq(x.lo));
}

DD CosOf(DD x) {
  Quad sine = 0, cosine = 0;
  sincosq(x.hi, &sine, &cosine);
  return Split(cosine * cosq(x.lo) - sine * sinq(x.lo));
}

DD TanOf(DD x) {
  Quad sine = 0, cosine = 0;
  sincosq(x.hi, &sine, &cosine);
  const Quad s = sinq(x.lo), c = cosq(x.lo);
  return Split((sine * c + cosine * s) / (cosine * c - sine * s));
}

DD ByQuad(Function function, DD x) {
  return Split(InQuad(function, Joined(x)));
}

DD PowOf(DD x, DD y) {
  return Split(powq(Joined(x), Joined(y)));
}

}  // namespace assay::formula
