// SPDX-License-Identifier: Apache-2.0
// Box-Muller in vectors of floats: float_normal.h's operations one by one, so that every lane has the bits of a single
// call.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/core/data/fill/philox_normal_float.cc"
#include "harness/core/data/fill/float_normal.h"
#include "harness/core/data/fill/philox.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"
// after highway.h
#include "harness/core/base/vector_group.h"
#include "harness/core/data/fill/philox_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {
namespace floats {  // philox_normal.cc has the same names for doubles

constexpr int kAtATime = 3;  // vectors whose chains of operations are interleaved
static_assert(kPhiloxVectors % kAtATime == 0);

#if HWY_TARGET == HWY_SCALAR

void FloatNormalsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  const auto store = [](const PhiloxOutputs<kPhiloxVectors>& outputs, auto target) HWY_ATTR {
    for (int i = 0; i < kPhiloxVectors; ++i) {
      for (const PhiloxOutput& output : {outputs.first[i], outputs.second[i]}) {
        const uint64_t words = hn::GetLane(Joined(output));
        const FloatPair pair = FloatNormals(static_cast<uint32_t>(words), static_cast<uint32_t>(words >> 32));
        *target.to++ = pair.first;
        *target.to++ = pair.second;
      }
    }
  };
  ForPhiloxBlocks<kPhiloxVectors>(seed, stream, block, count, {}, out, store);
}

#else

using F32 = hn::Repartition<float, U64>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using Floats = Group<hn::Vec<F32>, kAtATime>;
using Words = Group<hn::Vec<U32>, kAtATime>;

HWY_INLINE Floats All(float x) {
  return Each<kAtATime>([&](int) HWY_ATTR { return hn::Set(F32(), x); });
}
HWY_INLINE Words AllWords(uint32_t x) {
  return Each<kAtATime>([&](int) HWY_ATTR { return hn::Set(U32(), x); });
}
HWY_INLINE Floats FromSigned(const Words& n) {
  return ConvertedTo(F32(), BitsAs(I32(), n));
}

HWY_INLINE Floats SquaredRadii(const Words& words) {
  const Floats x = FromSigned(words) + All(0.5f);
  const Words bits = BitsAs(U32(), x);
  const Floats twice_m = BitsAs(F32(), (bits & AllWords(kFloatMantissa)) | AllWords(kFloatOne));
  const Floats twice_d = IfNegative(x, x * All(-0x1p-31f), All(2) - twice_m);
  const Floats halvings = FromSigned(AllWords(kExponentOfOne) - Right<23>(bits));
  const Floats k = Each<kAtATime>([&](int i) HWY_ATTR { return hn::Max(halvings.v[i], hn::Zero(F32())); });
  const Floats t = twice_d / (All(1) - All(0.25f) * twice_d), z = t * t;
  return k * All(kTwoLn2) + (t + t * (z * Polynomial(z, kFloatArtanh)));
}

// The words of a pair in one lane each.
HWY_INLINE void Normals(const Words& radius_words, const Words& angle_words, Floats& x, Floats& y) {
  const Floats radius = SquareRoot(SquaredRadii(radius_words));
  const Floats angle = FromSigned(Left<2>(angle_words) | AllWords(2)) * All(kAngleUnit), z = angle * angle;
  const Floats sin = angle + angle * (z * Polynomial(z, kFloatSine)), cos = All(1) + z * Polynomial(z, kFloatCosine);
  const Words quadrant = angle_words + AllWords(0x20000000), sign = AllWords(kFloatSign);
  const Floats odd = BitsAs(F32(), Left<1>(quadrant));
  const Words cos_sign = (quadrant + AllWords(0x40000000)) & sign, sin_sign = quadrant & sign;
  x = radius * (IfNegative(odd, sin, cos) ^ BitsAs(F32(), cos_sign));
  y = radius * (IfNegative(odd, cos, sin) ^ BitsAs(F32(), sin_sign));
}

// Takes the lower halves of two vectors of blocks: those of `first` go into even lanes, those of `second` into odd
// ones. Applied to both outputs, it puts both words of a pair into the same lane of two vectors.
HWY_INLINE hn::Vec<U32> BothHalves(U64Vec first, U64Vec second) {
  return hn::OddEven(hn::BitCast(U32(), SwapHalves(second)), hn::BitCast(U32(), first));
}

template <class Target>
HWY_INLINE void StoreInterleaved(hn::Vec<F32> x, hn::Vec<F32> y, Target& target) {
  target.Put(F32(), hn::InterleaveLower(F32(), x, y), hn::InterleaveUpper(F32(), x, y));
}

void FloatNormalsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  const auto store = [](const PhiloxOutputs<kPhiloxVectors>& outputs, auto target) HWY_ATTR {
    for (int first = 0; first < kPhiloxVectors; first += kAtATime) {
      const PhiloxOutput *a = outputs.first + first, *b = outputs.second + first;
      Floats x, y;
      Normals(Each<kAtATime>([&](int i) HWY_ATTR { return BothHalves(LowerHalf(a[i]), LowerHalf(b[i])); }),
              Each<kAtATime>([&](int i) HWY_ATTR { return BothHalves(UpperHalf(a[i]), UpperHalf(b[i])); }), x, y);
      for (int i = 0; i < kAtATime; ++i) StoreInterleaved(x.v[i], y.v[i], target);
    }
  };
  ForPhiloxBlocks<kPhiloxVectors>(seed, stream, block, count, {}, out, store);
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace floats
using floats::FloatNormalsImpl;
}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::internal {

HWY_EXPORT(FloatNormalsImpl);

void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(FloatNormalsImpl)(seed, stream, block, count, out);
}

}  // namespace assay::internal
#endif  // HWY_ONCE
