// SPDX-License-Identifier: Apache-2.0
// Tensor cores by mma.sync and ldmatrix (PTX ISA 7.0, sm_80 and later).
#pragma once

#include <type_traits>

namespace gpu {

template <class T>
struct Unit : NvidiaLayout {
  struct A {
    uint32_t at[4];
  };
  struct B {
    uint32_t at[4];
  };

  __device__ static uint32_t Address(const T* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  }

  // The four 8 x 8 quarters: rows 0 and 8 at k 0, then at k 8. Lane l names row l % 8 of quarter l / 8.
  __device__ static A LoadA(const T* tile, int pitch, int lane) {
    A a;
    const uint32_t from = Address(tile + lane % 16 * pitch + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a.at[0]), "=r"(a.at[1]), "=r"(a.at[2]), "=r"(a.at[3])
                 : "r"(from)
                 : "memory");
    return a;
  }

  // Quarters: k 0 and 8 of columns 0, then of columns 8.
  template <bool kAlongK>
  __device__ static B LoadB(const T* tile, int pitch, int lane) {
    B b;
    if (kAlongK) {
      const uint32_t from = Address(tile + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(b.at[0]), "=r"(b.at[1]), "=r"(b.at[2]), "=r"(b.at[3])
                   : "r"(from)
                   : "memory");
    } else {
      const uint32_t from = Address(tile + (lane % 8 + lane / 8 % 2 * 8) * pitch + lane / 16 * 8);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(b.at[0]), "=r"(b.at[1]), "=r"(b.at[2]), "=r"(b.at[3])
                   : "r"(from)
                   : "memory");
    }
    return b;
  }

  __device__ static void MultiplyAdd(const A& a, const B& b, float (&sum)[kSums]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* d = sum + half * 4;
      if constexpr (std::is_same_v<T, Half>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[2 * half]), "r"(b.at[2 * half + 1]));
      } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[2 * half]), "r"(b.at[2 * half + 1]));
      }
    }
  }

  template <class Combine>
  __device__ static float AcrossRow(float x, const Combine& combine) {
    x = combine(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return combine(x, __shfl_xor_sync(0xffffffffu, x, 2));
  }
};

}  // namespace gpu
