// SPDX-License-Identifier: Apache-2.0
#include "golden/fft/fft_stage.h"

#include <algorithm>

#include "golden/fft/fft_error.h"
#include "harness/core/base/multiversion.h"

#define ASSAY_INLINE [[gnu::always_inline]] inline

namespace assay {
namespace {

template <class R>
struct Complex {
  R re, im;
};

template <class R>
ASSAY_INLINE Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
ASSAY_INLINE Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
ASSAY_INLINE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class R>
ASSAY_INLINE Complex<R> Root(const Stage<R>& a, int64_t index) {
  return {a.root_re[index], a.root_im[index]};
}

template <class R>
ASSAY_INLINE Complex<R> Get(const Stage<R>& a, int64_t i) {
  return {a.re[i], a.im[i]};
}

template <bool kTwiddle, class R>
ASSAY_INLINE void Put(const Stage<R>& a, int64_t i, Complex<R> value, Complex<R> twiddle) {
  if constexpr (kTwiddle) value = value * twiddle;
  a.out_re[i] = value.re, a.out_im[i] = value.im;
}

template <bool kTwiddle, class R>
ASSAY_INLINE void Radix2(const Stage<R>& a, int64_t p) {
  const int64_t m = a.length / 2, from = p * a.s, to = 2 * p * a.s;
  const Complex<R> w = Root(a, p * (a.total / a.length));
  for (int64_t q = 0; q < a.s; ++q) {
    const Complex<R> x0 = Get(a, from + q), x1 = Get(a, from + m * a.s + q);
    Put<false>(a, to + q, x0 + x1, w);
    Put<kTwiddle>(a, to + a.s + q, x0 - x1, w);
  }
}

template <bool kTwiddle, class R>
ASSAY_INLINE void Radix4(const Stage<R>& a, int64_t p) {
  const int64_t m = a.length / 4, from = p * a.s, to = 4 * p * a.s, step = a.total / a.length;
  const Complex<R> w1 = Root(a, p * step), w2 = Root(a, 2 * p * step), w3 = Root(a, 3 * p * step);
  for (int64_t q = 0; q < a.s; ++q) {
    const Complex<R> x0 = Get(a, from + q), x1 = Get(a, from + m * a.s + q);
    const Complex<R> x2 = Get(a, from + 2 * m * a.s + q), x3 = Get(a, from + 3 * m * a.s + q);
    const Complex<R> even = x0 + x2, odd = x1 + x3, difference = x0 - x2, d = x1 - x3;
    const Complex<R> turned = {d.im, -d.re};  // -i (x1 - x3)
    Put<false>(a, to + q, even + odd, w1);
    Put<kTwiddle>(a, to + a.s + q, difference + turned, w1);
    Put<kTwiddle>(a, to + 2 * a.s + q, even - odd, w2);
    Put<kTwiddle>(a, to + 3 * a.s + q, difference - turned, w3);
  }
}

// Terms u and radix - u share their factors up to a sign: cos (x_u + x_{r-u}) - i sin (x_u - x_{r-u}).
template <class R>
ASSAY_INLINE void RadixOdd(const Stage<R>& a, int64_t p) {
  constexpr int64_t kChunk = 16;
  constexpr int64_t kPairs = (kLargestButterfly - 1) / 2;
  const int64_t radix = a.radix, m = a.length / radix, pairs = (radix - 1) / 2;
  const int64_t step = a.total / a.length, turn = a.total / radix;
  Complex<R> sum[kPairs][kChunk], difference[kPairs][kChunk], x0[kChunk], even[kChunk], odd[kChunk];
  for (int64_t first = 0; first < a.s; first += kChunk) {
    const int64_t count = std::min(kChunk, a.s - first), from = p * a.s + first, to = radix * p * a.s + first;
    for (int64_t q = 0; q < count; ++q) even[q] = x0[q] = Get(a, from + q);
    for (int64_t u = 1; u <= pairs; ++u) {
      for (int64_t q = 0; q < count; ++q) {
        const Complex<R> x = Get(a, from + u * m * a.s + q), mirror = Get(a, from + (radix - u) * m * a.s + q);
        sum[u - 1][q] = x + mirror, difference[u - 1][q] = x - mirror;
        even[q] = even[q] + sum[u - 1][q];
      }
    }
    for (int64_t q = 0; q < count; ++q) Put<false>(a, to + q, even[q], even[q]);
    for (int64_t t = 1; t <= pairs; ++t) {
      for (int64_t q = 0; q < count; ++q) even[q] = x0[q], odd[q] = {R{}, R{}};
      for (int64_t u = 1; u <= pairs; ++u) {
        const Complex<R> w = Root(a, u * t % radix * turn);
        for (int64_t q = 0; q < count; ++q) {
          const Complex<R> s = sum[u - 1][q], d = difference[u - 1][q];
          even[q] = {even[q].re + w.re * s.re, even[q].im + w.re * s.im};
          odd[q] = {odd[q].re - w.im * d.im, odd[q].im + w.im * d.re};  // i w.im d
        }
      }
      const Complex<R> w = Root(a, p * t * step), v = Root(a, p * (radix - t) * step);
      for (int64_t q = 0; q < count; ++q) {
        Put<true>(a, to + t * a.s + q, even[q] + odd[q], w);
        Put<true>(a, to + (radix - t) * a.s + q, even[q] - odd[q], v);
      }
    }
  }
}

template <class R>
ASSAY_INLINE void Run(const Stage<R>& a) {
  const int64_t m = a.length / a.radix;
  if (a.radix == 4) {
    Radix4<false>(a, 0);
    for (int64_t p = 1; p < m; ++p) Radix4<true>(a, p);
  } else if (a.radix == 2) {
    Radix2<false>(a, 0);
    for (int64_t p = 1; p < m; ++p) Radix2<true>(a, p);
  } else {
    for (int64_t p = 0; p < m; ++p) RadixOdd(a, p);
  }
}

}  // namespace

ASSAY_MULTIVERSION void RunStage(const Stage<double>& stage) {
  Run(stage);
}
ASSAY_MULTIVERSION void RunStage(const Stage<DD>& stage) {
  Run(stage);
}

}  // namespace assay
