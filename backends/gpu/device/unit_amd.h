// SPDX-License-Identifier: Apache-2.0
// Matrix cores of CDNA 2 and later (v_mfma), and of RDNA 3 (v_wmma). An architecture with neither computes the same
// sums without them.
#pragma once

#include <type_traits>

#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define ASSAY_GPU_CDNA 1
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__)
#define ASSAY_GPU_RDNA 1
#endif

namespace gpu {

using HalfX4 = _Float16 __attribute__((ext_vector_type(4)));
using HalfX16 = _Float16 __attribute__((ext_vector_type(16)));
using ShortX4 = short __attribute__((ext_vector_type(4)));
using ShortX16 = short __attribute__((ext_vector_type(16)));
using FloatX4 = float __attribute__((ext_vector_type(4)));
using FloatX8 = float __attribute__((ext_vector_type(8)));

#if defined(ASSAY_GPU_RDNA)
using AmdLayout = RdnaLayout;
inline constexpr int kFactorsOfLane = 16;  // all k of row or column lane % 16; both halves of the wave hold the same
#else
using AmdLayout = CdnaLayout;
inline constexpr int kFactorsOfLane = 4;  // k from lane / 16 * 4 on
#endif

template <class T>
struct Unit : AmdLayout {
  using Factors = Pack<uint16_t, kFactorsOfLane>;
  using A = Factors;
  using B = Factors;

  GPU_DEVICE static int FirstK(int lane) { return kFactorsOfLane == 16 ? 0 : lane / 16 * 4; }

  GPU_DEVICE static A LoadA(const T* tile, int pitch, int lane) {
    const T* from = tile + lane % 16 * pitch + FirstK(lane);
    A a;
#pragma unroll
    for (int i = 0; i < kFactorsOfLane; ++i) a.at[i] = from[i].bits;
    return a;
  }

  template <bool kAlongK>
  GPU_DEVICE static B LoadB(const T* tile, int pitch, int lane) {
    if (kAlongK) return LoadA(tile, pitch, lane);
    B b;
#pragma unroll
    for (int i = 0; i < kFactorsOfLane; ++i) b.at[i] = tile[(FirstK(lane) + i) * pitch + lane % 16].bits;
    return b;
  }

  GPU_DEVICE static void MultiplyAdd(const A& a, const B& b, float (&sum)[kSums]) {
#if defined(ASSAY_GPU_CDNA)
    FloatX4 d;
#elif defined(ASSAY_GPU_RDNA)
    FloatX8 d;
#endif
#if defined(ASSAY_GPU_CDNA) || defined(ASSAY_GPU_RDNA)
#pragma unroll
    for (int i = 0; i < kSums; ++i) d[i] = sum[i];
    constexpr bool kHalf = std::is_same_v<T, Half>;
#if defined(ASSAY_GPU_CDNA)
    if constexpr (kHalf) {
      d = __builtin_amdgcn_mfma_f32_16x16x16f16(BitCast<HalfX4>(a), BitCast<HalfX4>(b), d, 0, 0, 0);
    } else {
      d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(BitCast<ShortX4>(a), BitCast<ShortX4>(b), d, 0, 0, 0);
    }
#else
    if constexpr (kHalf) {
      d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(BitCast<HalfX16>(a), BitCast<HalfX16>(b), d);
    } else {
      d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(BitCast<ShortX16>(a), BitCast<ShortX16>(b), d);
    }
#endif
#pragma unroll
    for (int i = 0; i < kSums; ++i) sum[i] = d[i];
#else
    (void)a, (void)b, (void)sum;  // the host offers matrix-unit on architectures that have one only
#endif
  }

  template <class Combine>
  GPU_DEVICE static float AcrossRow(float x, const Combine& combine) {
#pragma unroll
    for (int bit = 1; bit <= kRowMask; bit *= 2) x = combine(x, __shfl_xor(x, bit));
    return x;
  }
};

}  // namespace gpu
