// SPDX-License-Identifier: Apache-2.0
// A few vectors that go through the same operations side by side, so that chains of dependent ones overlap. For files
// that Highway compiles once per instruction set: included after hwy/highway.h, inside whose targets everything lies.
#if defined(ASSAY_VECTOR_GROUP) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_VECTOR_GROUP
#undef ASSAY_VECTOR_GROUP
#else
#define ASSAY_VECTOR_GROUP
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V, int n>
struct Group {
  V v[n];
};

// f(i) for each of the vectors.
template <int n, class F>
HWY_INLINE auto Each(const F& f) {
  Group<decltype(f(0)), n> out;
  for (int i = 0; i < n; ++i) out.v[i] = f(i);
  return out;
}

template <class V, int n>
HWY_INLINE Group<V, n> operator+(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Add(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator-(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Sub(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator*(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Mul(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator/(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Div(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator&(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::And(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator|(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Or(a.v[i], b.v[i]); });
}
template <class V, int n>
HWY_INLINE Group<V, n> operator^(const Group<V, n>& a, const Group<V, n>& b) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Xor(a.v[i], b.v[i]); });
}

template <class V, int n>
HWY_INLINE Group<V, n> SquareRoot(const Group<V, n>& a) {
  return Each<n>([&](int i) HWY_ATTR { return hn::Sqrt(a.v[i]); });
}
// By the sign of `which`.
template <class V, int n>
HWY_INLINE Group<V, n> IfNegative(const Group<V, n>& which, const Group<V, n>& yes, const Group<V, n>& no) {
  return Each<n>([&](int i) HWY_ATTR { return hn::IfNegativeThenElse(which.v[i], yes.v[i], no.v[i]); });
}
template <int bits, class V, int n>
HWY_INLINE Group<V, n> Left(const Group<V, n>& a) {
  return Each<n>([&](int i) HWY_ATTR { return hn::ShiftLeft<bits>(a.v[i]); });
}
template <int bits, class V, int n>
HWY_INLINE Group<V, n> Right(const Group<V, n>& a) {
  return Each<n>([&](int i) HWY_ATTR { return hn::ShiftRight<bits>(a.v[i]); });
}
// Reinterprets the bits as lanes of D.
template <class D, class V, int n>
HWY_INLINE Group<hn::Vec<D>, n> BitsAs(D d, const Group<V, n>& a) {
  return Each<n>([&](int i) HWY_ATTR { return hn::BitCast(d, a.v[i]); });
}
// Converts the numbers to lanes of D, rounding where they do not fit.
template <class D, class V, int n>
HWY_INLINE Group<hn::Vec<D>, n> ConvertedTo(D d, const Group<V, n>& a) {
  return Each<n>([&](int i) HWY_ATTR { return hn::ConvertTo(d, a.v[i]); });
}

// c[0] + x (c[1] + x (...)), each product and each sum rounded.
template <class T, size_t terms, class V, int n>
HWY_INLINE Group<V, n> Polynomial(const Group<V, n>& x, const T (&c)[terms]) {
  const hn::DFromV<V> d;
  const auto all = [d](T value) HWY_ATTR { return Each<n>([&](int) HWY_ATTR { return hn::Set(d, value); }); };
  Group<V, n> sum = all(c[terms - 1]);
  for (size_t i = terms - 1; i-- > 0;) sum = all(c[i]) + x * sum;
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#endif
