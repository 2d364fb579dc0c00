// SPDX-License-Identifier: Apache-2.0
// The interface of a matrix unit where there is none: what surrounds it is then executed and judged without one.
#pragma once

namespace gpu {

template <class T>
struct Unit : PlainLayout {
  struct A {
    const T* row;
  };
  struct B {
    const T* tile;
    int k_step, column_step;
  };

  GPU_DEVICE static A LoadA(const T* tile, int pitch, int lane) { return {tile + lane * pitch}; }
  template <bool kAlongK>
  GPU_DEVICE static B LoadB(const T* tile, int pitch, int) {
    return kAlongK ? B{tile, 1, pitch} : B{tile, pitch, 1};
  }
  GPU_DEVICE static void MultiplyAdd(const A& a, const B& b, float (&sum)[kSums]) {
    for (int k = 0; k < 16; ++k) {
      const float left = ToAcc(a.row[k]);
      for (int i = 0; i < kSums; ++i) {
        sum[i] = gpu::MultiplyAdd(left, ToAcc(b.tile[k * b.k_step + i * b.column_step]), sum[i]);
      }
    }
  }
  template <class Combine>
  GPU_DEVICE static float AcrossRow(float x, const Combine&) {
    return x;
  }
};

}  // namespace gpu
