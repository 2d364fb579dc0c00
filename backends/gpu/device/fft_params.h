// SPDX-License-Identifier: Apache-2.0
// Parameters of fft kernels, and where elements lie. Pure index arithmetic.
#pragma once

#include "backends/gpu/device/integers.h"

namespace gpu {

inline constexpr int kMostFftAxes = 8;
inline constexpr int kFftThreads = 128;
inline constexpr int kLargestRadix = 31;

template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real re, im;
};

// Between an operand and a dense workspace [transforms, points].
struct FftMoveParams {
  const void* from = nullptr;
  void* to = nullptr;
  int32_t out = 0;  // to the operand
  int32_t real_operand = 0, mirrored = 0, swapped = 0, scaled = 0, axes = 0;
  int64_t count = 0, points = 0, batch_stride = 0;       // elements moved; points of a transform
  int64_t row = 0, full_row = 0;                         // elements of a row moved, and of one in the workspace
  int64_t size[kMostFftAxes]{}, stride[kMostFftAxes]{};  // of the operand, the last axis cut to its stored half
  double scale = 1;
};

struct FftPlace {
  int64_t offset;
  bool conjugate;
};

// Place in the operand of the element at `index` of one transform. On the way in the axes are full: elements that a
// half of the last axis leaves out are mirror images. On the way out they are as stored.
GPU_FN FftPlace PlaceOf(const FftMoveParams& p, int64_t index) {
  FftPlace place{0, false};
  for (int32_t axis = p.axes - 1; axis >= 0; --axis) {
    const bool last = axis == p.axes - 1;
    const int64_t size = last ? (p.out ? p.row : p.full_row) : p.size[axis];
    int64_t at = index % size;
    index /= size;
    if (last && p.mirrored && at >= p.size[axis]) place.conjugate = true;
    if (place.conjugate) at = at == 0 ? 0 : size - at;
    place.offset += at * p.stride[axis];
  }
  return place;
}

// One stage of a mixed-radix Stockham transform along one axis (decimation in frequency; results in natural order).
struct FftStageParams {
  const void *from = nullptr, *roots = nullptr;  // e^(-2 pi i j / n), j < n
  void* to = nullptr;
  int32_t radix = 2;
  int64_t count = 0, n = 0, inner = 1;  // butterflies; length of the axis; elements between its neighbours
  int64_t m = 1, s = 1;                 // n / (radices so far), this one's included; their product before it
};

struct Butterfly {
  int64_t in, in_step, out, out_step, turn;  // result t is turned by root t * turn
};
GPU_FN Butterfly ButterflyOf(const FftStageParams& p, int64_t number) {
  const int64_t i = number % p.inner, rest = number / p.inner;
  const int64_t q = rest % p.s, at = rest / p.s % p.m, outer = rest / p.s / p.m;
  const int64_t start = outer * p.n * p.inner + i;
  return {start + (at * p.s + q) * p.inner, p.m * p.s * p.inner, start + (p.radix * at * p.s + q) * p.inner,
          p.s * p.inner, at * p.s};
}

// The products of Bluestein's transform of lines of length n through ones of a padded length. Mode 0: times the chirp,
// padded with zeros; 1: times the chirp's spectrum, parts exchanged for the way back; 2: exchanged again, times the
// chirp.
struct FftChirpParams {
  const void *from = nullptr, *table = nullptr;
  void* to = nullptr;
  int32_t mode = 0;
  int64_t count = 0, n = 0, padded = 0, inner = 1;
};

struct ScaleParams {
  void* data = nullptr;
  int64_t count = 0;
  double factor = 1;
};

// Element j of a line in the workspace [outer, n, inner].
GPU_FN int64_t LineElement(const FftChirpParams& p, int64_t line, int64_t j) {
  return (line / p.inner * p.n + j) * p.inner + line % p.inner;
}

}  // namespace gpu
