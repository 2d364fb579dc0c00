// SPDX-License-Identifier: Apache-2.0
// Box-Muller in vectors: portable_math.h's kernels operation by operation, so that every lane has the bits of a single
// call. What differs is exact: how integers become doubles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/core/data/fill/philox_normal.cc"
#include "harness/core/data/fill/philox.h"
#include "harness/core/data/fill/portable_math.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"
// after highway.h
#include "harness/core/base/vector_group.h"
#include "harness/core/data/fill/philox_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {

constexpr int kAtATime = 3;  // vectors whose chains of operations are interleaved
static_assert(kPhiloxVectors % kAtATime == 0);

using Doubles = Group<F64Vec, kAtATime>;
using Words = Group<U64Vec, kAtATime>;
using Outputs = Group<PhiloxOutput, kAtATime>;

HWY_INLINE Doubles All(double x) {
  return Each<kAtATime>([&](int) HWY_ATTR { return hn::Set(F64(), x); });
}
HWY_INLINE Words AllWords(uint64_t x) {
  return Each<kAtATime>([&](int) HWY_ATTR { return hn::Set(U64(), x); });
}

// LogKernel(x).
HWY_INLINE Doubles Logarithm(const Doubles& x) {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const Words bits = BitsAs(U64(), x), exponent = Right<52>(bits + AllWords(kOne - kSqrtHalfBits));
  const Words shifted = exponent | AllWords(kTwo52Bits);
  const Doubles m = BitsAs(F64(), bits - Left<52>(exponent) + AllWords(kOne));
  const Doubles k = BitsAs(F64(), shifted) - All(kTwo52 + 1023);
  const Doubles f = m - All(1), s = f / (All(2) + f), z = s * s, w = z * z;
  const Doubles even = w * Polynomial(w, kLogEven), odd = z * Polynomial(w, kLogOdd);
  const Doubles half_square = All(0.5) * f * f;
  return s * (half_square + (even + odd)) + k * All(kLn2Low) - half_square + f + k * All(kLn2High);
}

HWY_INLINE Doubles Sine(const Doubles& x, const Doubles& z) {
  return x + x * z * Polynomial(z, kSine);
}

HWY_INLINE Doubles Cosine(const Doubles& z) {
  const Doubles r = z * Polynomial(z, kCosine), half = All(0.5) * z, w = All(1) - half;
  return w + (((All(1) - w) - half) + z * r);
}

// u + 2^-53 and 4 v of the pairs' uniform deviates.
#if ASSAY_HALVES_OF_DOUBLES
constexpr PhiloxForm kForm{kLowerBits, HalvesOfDoubles<1>::kFlip, HalvesOfDoubles<4>::kFlip};

HWY_INLINE Doubles PositiveUniform(const Outputs& outputs) {
  return Each<kAtATime>([&](int i) HWY_ATTR {
    using Halves = HalvesOfDoubles<1>;
    const Halves halves(outputs.v[i]);
    return hn::Add(hn::Sub(halves.high, hn::Set(F64(), Halves::kHigh)),
                   hn::Sub(halves.low, hn::Set(F64(), Halves::kLow - 0x1p-53)));
  });
}
HWY_INLINE Doubles Quarters(const Outputs& outputs) {
  return Each<kAtATime>([&](int i) HWY_ATTR { return ScaledUniform<4>(outputs.v[i], 0); });
}
#else
constexpr PhiloxForm kForm;

HWY_INLINE Words UpperBits(const Outputs& outputs) {
  return Each<kAtATime>([&](int i) HWY_ATTR { return hn::ShiftRight<11>(Joined(outputs.v[i])); });
}
HWY_INLINE Doubles Exactly(const Words& n) {  // below 2^53
  return ConvertedTo(F64(), BitsAs(hn::RebindToSigned<U64>(), n));
}
HWY_INLINE Doubles PositiveUniform(const Outputs& outputs) {
  return Exactly(UpperBits(outputs) + AllWords(1)) * All(0x1p-53);
}
HWY_INLINE Doubles Quarters(const Outputs& outputs) {
  return Exactly(UpperBits(outputs)) * All(0x1p-51);
}
#endif

// Box-Muller pairs.
HWY_INLINE void Normals(const Outputs& first, const Outputs& second, Doubles& x, Doubles& y) {
  const Doubles radius = SquareRoot(All(-2) * Logarithm(PositiveUniform(first)));

  const Doubles quarters = Quarters(second), shifted = quarters + All(kRoundingShifter);
  const Doubles angle = (quarters - (shifted - All(kRoundingShifter))) * All(kHalfPi), z = angle * angle;
  const Doubles sin = Sine(angle, z), cos = Cosine(z);
  const U64 d;
  for (int i = 0; i < kAtATime; ++i) {
    const U64Vec quadrant = hn::BitCast(d, shifted.v[i]), one = hn::Set(d, 1), two = hn::Set(d, 2);
    const auto swap = hn::RebindMask(F64(), hn::TestBit(quadrant, one));
    const auto sin_sign = hn::BitCast(F64(), hn::ShiftLeft<62>(hn::And(quadrant, two)));
    const auto cos_sign = hn::BitCast(F64(), hn::ShiftLeft<62>(hn::And(hn::Add(quadrant, one), two)));
    x.v[i] = hn::Mul(radius.v[i], hn::Xor(hn::IfThenElse(swap, sin.v[i], cos.v[i]), cos_sign));
    y.v[i] = hn::Mul(radius.v[i], hn::Xor(hn::IfThenElse(swap, cos.v[i], sin.v[i]), sin_sign));
  }
}

void NormalsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  const auto store = [](const PhiloxOutputs<kPhiloxVectors>& outputs, auto target) HWY_ATTR {
    for (int first = 0; first < kPhiloxVectors; first += kAtATime) {
      const Outputs a = Each<kAtATime>([&](int i) HWY_ATTR { return outputs.first[first + i]; });
      const Outputs b = Each<kAtATime>([&](int i) HWY_ATTR { return outputs.second[first + i]; });
      Doubles x, y;
      Normals(a, b, x, y);
      for (int i = 0; i < kAtATime; ++i) StorePairs(F64(), x.v[i], y.v[i], target);
    }
  };
  ForPhiloxBlocks<kPhiloxVectors>(seed, stream, block, count, kForm, out, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::internal {

HWY_EXPORT(NormalsImpl);

void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(NormalsImpl)(seed, stream, block, count, out);
}

}  // namespace assay::internal
#endif  // HWY_ONCE
