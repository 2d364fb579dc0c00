// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/core/data/fill/philox.cc"
#include "harness/core/data/fill/philox.h"

#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"
// after highway.h
#include "harness/core/data/fill/philox_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {

using I64 = hn::RebindToSigned<U64>;

// Puts value(output) for every vector of outputs, whose values are two for each block.
template <class D, class Value>
HWY_INLINE void ForOutputs(D d, uint64_t seed, uint64_t stream, uint64_t block, int64_t count, const PhiloxForm& form,
                           hn::TFromD<D>* out, const Value& value) {
  const auto store = [&](const PhiloxOutputs<kPhiloxVectors>& outputs, auto target) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i) StorePairs(d, value(outputs.first[i]), value(outputs.second[i]), target);
  };
  ForPhiloxBlocks<kPhiloxVectors>(seed, stream, block, count, form, out, store);
}

void BitsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out) {
  ForOutputs(U64(), seed, stream, block, count, {}, out,
             [](const PhiloxOutput& output) HWY_ATTR { return Joined(output); });
}

void UniformsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
#if ASSAY_HALVES_OF_DOUBLES
  constexpr uint64_t kFlip = HalvesOfDoubles<1>::kFlip;
  constexpr PhiloxForm kForm{kLowerBits, kFlip, kFlip};
  const auto value = [](const PhiloxOutput& output) HWY_ATTR { return ScaledUniform<1>(output, 0); };
#else
  constexpr PhiloxForm kForm;
  const auto value = [](const PhiloxOutput& output) HWY_ATTR {
    const auto n = hn::ConvertTo(F64(), hn::BitCast(I64(), hn::ShiftRight<11>(Joined(output))));
    return hn::Mul(n, hn::Set(F64(), 0x1p-53));
  };
#endif
  ForOutputs(F64(), seed, stream, block, count, kForm, out, value);
}

void SymmetricImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
#if ASSAY_HALVES_OF_DOUBLES
  constexpr uint64_t kFlip = HalvesOfDoubles<2>::kFlip;
  constexpr PhiloxForm kForm{kLowerBits, kFlip, kFlip};
  const auto value = [](const PhiloxOutput& output) HWY_ATTR { return ScaledUniform<2>(output, 1); };
#else
  // The upper 53 bits, the uppermost flipped, are the deviate as a signed multiple of 2^-63.
  constexpr uint64_t kMask = ~uint64_t{0} << 11, kFlip = uint64_t{1} << 63;
  constexpr PhiloxForm kForm{~uint64_t{0}, kFlip, kFlip};
  const auto value = [](const PhiloxOutput& output) HWY_ATTR {
    const auto n = hn::ConvertTo(F64(), hn::BitCast(I64(), Joined(output, kMask)));
    return hn::Mul(n, hn::Set(F64(), 0x1p-63));
  };
#endif
  ForOutputs(F64(), seed, stream, block, count, kForm, out, value);
}

// Every word as a signed integer, rounded, in units of 2^-31.
#if HWY_TARGET == HWY_SCALAR
template <class Target>
HWY_INLINE void StoreWords(U64Vec first, U64Vec second, Target& target) {
  for (const U64Vec pair : {first, second}) {
    for (const uint64_t word : {hn::GetLane(pair), hn::GetLane(pair) >> 32})
      *target.to++ = static_cast<float>(static_cast<int32_t>(word)) * 0x1p-31f;
  }
}
#else
template <class Target>
HWY_INLINE void StoreWords(U64Vec first, U64Vec second, Target& target) {
  const hn::Repartition<float, U64> d;
  const auto values = [&](U64Vec words) HWY_ATTR {
    return hn::Mul(hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<decltype(d)>(), words)), hn::Set(d, 0x1p-31f));
  };
  StorePairs(d, values(first), values(second), target);
}
#endif

void FloatSymmetricImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  const auto store = [](const PhiloxOutputs<kPhiloxVectors>& outputs, auto target) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i) StoreWords(Joined(outputs.first[i]), Joined(outputs.second[i]), target);
  };
  ForPhiloxBlocks<kPhiloxVectors>(seed, stream, block, count, {}, out, store);
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
