// SPDX-License-Identifier: Apache-2.0
// Operators with a thread for each element of the output, or for each pair of them.
#pragma once

#include "backends/gpu/device/operands.h"

namespace gpu {

// x [b,l,h,d], cosines and sines [l,d/2] -> y [b,l,h,d]: the halves of a head turned; with the option turned back.
struct RopeKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t l = x.Size(0), h = x.Size(1), half = x.Size(2);
    const int64_t pair = item % half, head = item / half % h, place = item / half / h % l, batch = item / half / h / l;
    const A c = x.X(1, place, pair), s = x.params().option != 0 ? -x.X(2, place, pair) : x.X(2, place, pair);
    const A first = x.X(0, batch, place, head, pair), second = x.X(0, batch, place, head, pair + half);
    x.Write(0, first * c - second * s, batch, place, head, pair);
    x.Write(0, second * c + first * s, batch, place, head, pair + half);
  }
};

// x and y [rows,n], behind x a scale and with three inputs the code of zero. The option asks for saturation.
template <class A>
GPU_DEVICE A CodeOfZero(const Operands<A>& x, int64_t row, int64_t column) {
  return x.params().inputs > 2 ? x.X(2, row, column) : static_cast<A>(x.params().integer);
}

// NaN is 0 among integers, which have none.
template <class A>
GPU_DEVICE A Limited(const OperandParams& p, A value) {
  const Tag type = p.y[0].type;
  const bool is_float = type == Tag::kE4M3 || type == Tag::kE5M2;
  if (IsNan(value)) return is_float ? value : A{0};
  if (p.option == 0) return value;
  const A low = static_cast<A>(p.low), high = static_cast<A>(p.high), least = value < high ? value : high;
  const A limited = least > low ? least : low;
  return is_float ? limited : NearestInteger(limited);
}

struct QuantizeKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t row = item / x.Size(0), column = item % x.Size(0);
    const A code = x.X(0, row, column) / x.X(1, row, column) + CodeOfZero(x, row, column);
    x.Write(0, Limited(x.params(), code), row, column);
  }
};

struct RequantizeKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t row = item / x.Size(0), column = item % x.Size(0);
    const A code = x.X(0, row, column) * x.X(1, row, column) + CodeOfZero(x, row, column);
    x.Write(0, Limited(x.params(), code), row, column);
  }
};

struct DequantizeKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t row = item / x.Size(0), column = item % x.Size(0);
    x.Write(0, (x.X(0, row, column) - CodeOfZero(x, row, column)) * x.X(1, row, column), row, column);
  }
};

// x [rows,k], w [groups,k,n], ends [groups] -> y [rows,n]
struct GroupedGemmKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t groups = x.Size(0), k = x.Size(1), row = item / x.Size(2), column = item % x.Size(2);
    int64_t group = 0;
    while (group + 1 < groups && x.Integer(2, group) <= row) ++group;
    A sum = 0;
    for (int64_t i = 0; i < k; ++i) sum = MultiplyAdd(x.X(0, row, i), x.X(1, group, i, column), sum);
    x.Write(0, sum, row, column);
  }
};

// a [m,k], b [k,n], scales of blocks, and with five inputs a zero of a -> y [m,n]. The products of a block are added up
// before they are scaled, unless the scale is infinite: then a product of 0 is NaN.
struct ScaledMmKernel {
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t k = x.Size(0), block = x.Size(2), row = item / x.Size(1), column = item % x.Size(1);
    const A zero = x.params().inputs > 4 ? x.X(4, row) : A{0};
    A sum = 0;
    for (int64_t at = 0; at * block < k; ++at) {
      const A scale_a = x.X(2, row, at), scale_b = x.X(3, at, column / x.Size(3));
      const bool together = IsFinite(scale_a * scale_b);
      A of_block = 0;
      for (int64_t i = at * block; i < Least(k, (at + 1) * block); ++i) {
        const A a = x.X(0, row, i) - zero, b = x.X(1, i, column);
        of_block += together ? a * b : (a * scale_a) * (b * scale_b);
      }
      sum += together ? of_block * (scale_a * scale_b) : of_block;
    }
    x.Write(0, sum, row, column);
  }
};

}  // namespace gpu
