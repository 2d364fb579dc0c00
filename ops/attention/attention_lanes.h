// SPDX-License-Identifier: Apache-2.0
// Loops over vectors of the tile's numbers, for files that Highway compiles once per instruction set: included after
// hwy/highway.h, inside whose targets everything here lies.
#if defined(ASSAY_ATTENTION_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_ATTENTION_LANES
#undef ASSAY_ATTENTION_LANES
#else
#define ASSAY_ATTENTION_LANES
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "golden/dd/inverse_factorial.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 16>;

constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;

template <class D>
HWY_INLINE int64_t LanesOf(D d) {
  return static_cast<int64_t>(hn::Lanes(d));
}

// Calls body(first, d, count of vectors) for kMany full vectors, then for one, then for single elements.
template <int kMany, class D, class Body>
HWY_INLINE void ForVectors(D d, int64_t n, const Body& body) {
  const int64_t lanes = LanesOf(d);
  int64_t i = 0;
  for (; i + kMany * lanes <= n; i += kMany * lanes) body(i, d, std::integral_constant<int, kMany>());
  for (; i + lanes <= n; i += lanes) body(i, d, std::integral_constant<int, 1>());
  for (; i < n; ++i) body(i, hn::CappedTag<hn::TFromD<D>, 1>(), std::integral_constant<int, 1>());
}

// std::min(x, y) and std::max(x, y), where an operand is NaN too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LesserOf(D, V x, V y) {
  return hn::IfThenElse(hn::Lt(y, x), y, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GreaterOf(D, V x, V y) {
  return hn::IfThenElse(hn::Lt(x, y), y, x);
}

// Loads factors from k or v: as doubles, or as |x| in float for a sum of magnitudes.
template <class D>
HWY_INLINE hn::Vec<D> Factors(D d, const float* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
  } else {
    return hn::Abs(hn::LoadU(d, from));
  }
}

// exp(x) for -700 <= x <= 0, as 2^k exp(r), |r| <= ln(2) / 2, with the Taylor series up to r^13 / 13!.
template <class D>
HWY_INLINE hn::Vec<D> NearExponential(D d, hn::Vec<D> x) {
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;  // k kLn2High is exact
  constexpr double kShifter = 0x1.8p52;  // added to a number, it leaves the nearest integer in the lowest bits
  const auto term = [&](int k) HWY_ATTR { return hn::Set(d, InverseFactorial(k).hi); };
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), hn::Set(d, kShifter));
  const auto k = hn::Sub(shifted, hn::Set(d, kShifter));
  const auto r = hn::NegMulAdd(k, hn::Set(d, kLn2Low), hn::NegMulAdd(k, hn::Set(d, kLn2High), x));
  const auto r2 = hn::Mul(r, r);
  auto even = term(12), odd = term(13);
  for (int i = 10; i >= 2; i -= 2) even = hn::MulAdd(even, r2, term(i)), odd = hn::MulAdd(odd, r2, term(i + 1));
  const auto y = hn::Add(hn::Set(d, 1.0), hn::MulAdd(r2, hn::MulAdd(odd, r, even), r));
  const hn::RebindToSigned<D> integers;
  constexpr int64_t kBias = 1023 - std::bit_cast<int64_t>(kShifter);
  const auto exponent = hn::Add(hn::BitCast(integers, shifted), hn::Set(integers, kBias));
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<52>(exponent)));
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#endif
