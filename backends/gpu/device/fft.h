// SPDX-License-Identifier: Apache-2.0
// fft kernels. Products are multiplied and added apart, so that exchanging the parts of every number exchanges those of
// every result: the way back is the way there with both parts exchanged.
#pragma once

#include "backends/gpu/device/fft_params.h"
#include "backends/gpu/device/math.h"

namespace gpu {

template <class R>
GPU_DEVICE Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
GPU_DEVICE Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
GPU_DEVICE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
GPU_DEVICE Complex<R> Swapped(Complex<R> a) {
  return {a.im, a.re};
}
// -i a
template <class R>
GPU_DEVICE Complex<R> QuarterTurn(Complex<R> a) {
  return {a.im, -a.re};
}

// In place, results in natural order, for powers of two; roots[j * step] = e^(-2 pi i j / kRadix).
template <int kRadix, class R>
struct Transform {
  GPU_DEVICE static void Run(Complex<R> (&x)[kRadix], const Complex<R>* roots, int64_t step) {
    constexpr int kHalf = kRadix / 2;
    Complex<R> even[kHalf], odd[kHalf];
#pragma unroll
    for (int j = 0; j < kHalf; ++j) even[j] = x[2 * j], odd[j] = x[2 * j + 1];
    Transform<kHalf, R>::Run(even, roots, 2 * step);
    Transform<kHalf, R>::Run(odd, roots, 2 * step);
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      const Complex<R> turned = k == 0 ? odd[k] : 4 * k == kRadix ? QuarterTurn(odd[k]) : odd[k] * roots[k * step];
      x[k] = even[k] + turned, x[k + kHalf] = even[k] - turned;
    }
  }
};
template <class R>
struct Transform<1, R> {
  GPU_DEVICE static void Run(Complex<R> (&)[1], const Complex<R>*, int64_t) {}
};

template <class R>
GPU_KERNEL void FftMove(const GPU_CONSTANT FftMoveParams p) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kFftThreads + threadIdx.x;
  if (number >= p.count) return;
  const int64_t per_batch = p.out ? p.points / p.full_row * p.row : p.points;
  const int64_t batch = number / per_batch, index = number % per_batch;
  const FftPlace place = PlaceOf(p, index);
  const int64_t at = batch * p.batch_stride + place.offset;
  if (!p.out) {
    Complex<R> value{};
    if (p.real_operand) {
      value.re = static_cast<const R*>(p.from)[at];
    } else {
      value = {static_cast<const R*>(p.from)[2 * at], static_cast<const R*>(p.from)[2 * at + 1]};
    }
    if (place.conjugate) value.im = -value.im;
    static_cast<Complex<R>*>(p.to)[batch * p.points + index] = p.swapped ? Swapped(value) : value;
    return;
  }
  Complex<R> value =
      static_cast<const Complex<R>*>(p.from)[batch * p.points + index / p.row * p.full_row + index % p.row];
  if (p.swapped) value = Swapped(value);
  if (p.scaled) value.re *= static_cast<R>(p.scale), value.im *= static_cast<R>(p.scale);
  if (p.real_operand) {
    static_cast<R*>(p.to)[at] = value.re;
  } else {
    static_cast<R*>(p.to)[2 * at] = value.re, static_cast<R*>(p.to)[2 * at + 1] = value.im;
  }
}

// A thread per butterfly of kRadix = 2, 4, 8 or 16.
template <class R, int kRadix>
GPU_KERNEL void FftStage(const GPU_CONSTANT FftStageParams p) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kFftThreads + threadIdx.x;
  if (number >= p.count) return;
  const Butterfly b = ButterflyOf(p, number);
  const auto* roots = static_cast<const Complex<R>*>(p.roots);
  const auto* from = static_cast<const Complex<R>*>(p.from);
  auto* to = static_cast<Complex<R>*>(p.to);
  Complex<R> x[kRadix];
#pragma unroll
  for (int j = 0; j < kRadix; ++j) x[j] = from[b.in + j * b.in_step];
  Transform<kRadix, R>::Run(x, roots, p.n / kRadix);
#pragma unroll
  for (int t = 0; t < kRadix; ++t) to[b.out + t * b.out_step] = t == 0 ? x[0] : x[t] * roots[t * b.turn];
}

// A thread per result of an odd radix up to kLargestRadix.
template <class R>
GPU_KERNEL void FftOddStage(const GPU_CONSTANT FftStageParams p) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kFftThreads + threadIdx.x;
  if (number >= p.count) return;
  const int64_t butterfly = number / p.inner / p.radix * p.inner + number % p.inner, t = number / p.inner % p.radix;
  const Butterfly b = ButterflyOf(p, butterfly);
  const auto* roots = static_cast<const Complex<R>*>(p.roots);
  const auto* from = static_cast<const Complex<R>*>(p.from);
  Complex<R> sum = from[b.in];
  for (int64_t j = 1; j < p.radix; ++j) {
    sum = sum + from[b.in + j * b.in_step] * roots[j * t % p.radix * (p.n / p.radix)];
  }
  static_cast<Complex<R>*>(p.to)[b.out + t * b.out_step] = t == 0 ? sum : sum * roots[t * b.turn];
}

template <class R>
GPU_KERNEL void FftChirp(const GPU_CONSTANT FftChirpParams p) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kFftThreads + threadIdx.x;
  if (number >= p.count) return;
  const int64_t length = p.mode == 2 ? p.n : p.padded, line = number / length, j = number % length;
  const auto* from = static_cast<const Complex<R>*>(p.from);
  const auto* table = static_cast<const Complex<R>*>(p.table);
  auto* to = static_cast<Complex<R>*>(p.to);
  if (p.mode == 0) {
    to[number] = j < p.n ? from[LineElement(p, line, j)] * table[j] : Complex<R>{};
  } else if (p.mode == 1) {
    to[number] = Swapped(from[number] * table[j]);
  } else {
    to[LineElement(p, line, j)] = Swapped(from[line * p.padded + j]) * table[j];
  }
}

template <class R>
GPU_KERNEL void Scale(const GPU_CONSTANT ScaleParams p) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kFftThreads + threadIdx.x;
  if (number < p.count) static_cast<R*>(p.data)[number] *= static_cast<R>(p.factor);
}

}  // namespace gpu
