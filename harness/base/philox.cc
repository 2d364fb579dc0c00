// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/base/philox.cc"
#include "harness/base/philox.h"

#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"
// after highway.h
#include "harness/base/philox_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {

using I64 = hn::RebindToSigned<U64>;

void BitsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out) {
  ForPhiloxBlocks(seed, stream, block, count, {}, out, [](const PhiloxWords& words, uint64_t* to) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i, to += PhiloxStride()) {
      StorePairs(U64(), words.first[i], words.second[i], to);
    }
  });
}

// Multiples of 2^-53 in [0, 1).
HWY_INLINE F64Vec Uniform(U64Vec bits) {
  const auto n = hn::ConvertTo(F64(), hn::BitCast(I64(), hn::ShiftRight<11>(bits)));  // below 2^53: exact
  return hn::Mul(n, hn::Set(F64(), 0x1p-53));
}

void UniformsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  ForPhiloxBlocks(seed, stream, block, count, {}, out, [](const PhiloxWords& words, double* to) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i, to += PhiloxStride()) {
      StorePairs(F64(), Uniform(words.first[i]), Uniform(words.second[i]), to);
    }
  });
}

// Twice that less one: the upper 53 bits, the uppermost flipped, are it as a signed multiple of 2^-63.
constexpr PhiloxForm kSymmetric = {.flip = uint64_t{1} << 63, .mask = ~uint64_t{0} << 11};
constexpr double kSymmetricUnit = 0x1p-63;

HWY_INLINE F64Vec Symmetric(U64Vec bits) {
  return hn::Mul(hn::ConvertTo(F64(), hn::BitCast(I64(), bits)), hn::Set(F64(), kSymmetricUnit));  // 53 bits: exact
}

void SymmetricImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  ForPhiloxBlocks(seed, stream, block, count, kSymmetric, out, [](const PhiloxWords& words, double* to) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i, to += PhiloxStride()) {
      StorePairs(F64(), Symmetric(words.first[i]), Symmetric(words.second[i]), to);
    }
  });
}

void FloatSymmetricImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
#if HWY_TARGET <= HWY_AVX3  // converts 64-bit integers to float, with one rounding as well
  HWY_ALIGN int32_t places[16];
  PlacesOfPairs(8, places);
  for (int32_t& place : places) place += place < 8 ? 0 : 8;
  const __m512i from = _mm512_load_si512(places);
  const __m512 unit = _mm512_set1_ps(static_cast<float>(kSymmetricUnit));
  ForPhiloxBlocks(seed, stream, block, count, kSymmetric, out, [&](const PhiloxWords& words, float* to) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i, to += PhiloxStride()) {
      const __m512 a = _mm512_castps256_ps512(_mm512_cvtepi64_ps(words.first[i].raw));
      const __m512 b = _mm512_castps256_ps512(_mm512_cvtepi64_ps(words.second[i].raw));
      _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_permutex2var_ps(a, from, b), unit));
    }
  });
#else
  ForPhiloxBlocks(seed, stream, block, count, kSymmetric, out, [](const PhiloxWords& words, float* to) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i, to += PhiloxStride()) {
      StoreRoundedPairs(Symmetric(words.first[i]), Symmetric(words.second[i]), to);
    }
  });
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::internal {

HWY_EXPORT(BitsImpl);
HWY_EXPORT(UniformsImpl);
HWY_EXPORT(SymmetricImpl);
HWY_EXPORT(FloatSymmetricImpl);

void PhiloxBits(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(BitsImpl)(seed, stream, block, count, out);
}

void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(UniformsImpl)(seed, stream, block, count, out);
}

void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(SymmetricImpl)(seed, stream, block, count, out);
}

void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(FloatSymmetricImpl)(seed, stream, block, count, out);
}

}  // namespace assay::internal
#endif  // HWY_ONCE
