// SPDX-License-Identifier: Apache-2.0
// Box-Muller in vectors: portable_math.h's kernels operation by operation, so that every lane has the bits of a single
// call. What differs is exact: how integers become doubles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/base/philox_normal.cc"
#include "harness/base/philox.h"
#include "harness/base/portable_math.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"
// after highway.h
#include "harness/base/philox_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {

// Vectors whose chains of operations are interleaved.
#if HWY_TARGET <= HWY_AVX3
constexpr int kAtATime = 3;
#else
constexpr int kAtATime = 1;
#endif
static_assert(kPhiloxVectors % kAtATime == 0);

struct Doubles {
  F64Vec v[kAtATime];
};
struct Words {
  U64Vec v[kAtATime];
};

template <class F>
HWY_INLINE Doubles Each(const F& f) {
  Doubles out;
  for (int i = 0; i < kAtATime; ++i) out.v[i] = f(i);
  return out;
}
template <class F>
HWY_INLINE Words EachWord(const F& f) {
  Words out;
  for (int i = 0; i < kAtATime; ++i) out.v[i] = f(i);
  return out;
}

HWY_INLINE Doubles operator+(const Doubles& a, const Doubles& b) {
  return Each([&](int i) HWY_ATTR { return hn::Add(a.v[i], b.v[i]); });
}
HWY_INLINE Doubles operator-(const Doubles& a, const Doubles& b) {
  return Each([&](int i) HWY_ATTR { return hn::Sub(a.v[i], b.v[i]); });
}
HWY_INLINE Doubles operator*(const Doubles& a, const Doubles& b) {
  return Each([&](int i) HWY_ATTR { return hn::Mul(a.v[i], b.v[i]); });
}
HWY_INLINE Doubles operator/(const Doubles& a, const Doubles& b) {
  return Each([&](int i) HWY_ATTR { return hn::Div(a.v[i], b.v[i]); });
}

HWY_INLINE Doubles All(double x) {
  return Each([&](int) HWY_ATTR { return hn::Set(F64(), x); });
}
HWY_INLINE Words AllWords(uint64_t x) {
  return EachWord([&](int) HWY_ATTR { return hn::Set(U64(), x); });
}
HWY_INLINE Words operator+(const Words& a, const Words& b) {
  return EachWord([&](int i) HWY_ATTR { return hn::Add(a.v[i], b.v[i]); });
}
HWY_INLINE Words operator-(const Words& a, const Words& b) {
  return EachWord([&](int i) HWY_ATTR { return hn::Sub(a.v[i], b.v[i]); });
}
template <int kBits>
HWY_INLINE Words Right(const Words& a) {
  return EachWord([&](int i) HWY_ATTR { return hn::ShiftRight<kBits>(a.v[i]); });
}
HWY_INLINE Words BitsOf(const Doubles& x) {
  return EachWord([&](int i) HWY_ATTR { return hn::BitCast(U64(), x.v[i]); });
}
HWY_INLINE Doubles FromBits(const Words& bits) {
  return Each([&](int i) HWY_ATTR { return hn::BitCast(F64(), bits.v[i]); });
}
HWY_INLINE Doubles Exactly(const Words& n) {  // below 2^53
  return Each([&](int i) HWY_ATTR { return hn::ConvertTo(F64(), hn::BitCast(hn::RebindToSigned<U64>(), n.v[i])); });
}

// c[0] + x (c[1] + x (...)), each product and each sum rounded.
template <size_t n>
HWY_INLINE Doubles Polynomial(const Doubles& x, const double (&c)[n]) {
  Doubles sum = All(c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) sum = All(c[i]) + x * sum;
  return sum;
}

// LogKernel(x, 0).
HWY_INLINE Doubles Logarithm(const Doubles& x) {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const Words bits = BitsOf(x), exponent = Right<52>(bits + AllWords(kOne - kSqrtHalfBits));
  const Words scale = EachWord([&](int i) HWY_ATTR { return hn::ShiftLeft<52>(exponent.v[i]); });
  const Words shifted = EachWord([&](int i) HWY_ATTR { return hn::Or(exponent.v[i], hn::Set(U64(), kTwo52Bits)); });
  const Doubles m = FromBits(bits - scale + AllWords(kOne)), k = FromBits(shifted) - All(kTwo52 + 1023);
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

// Box-Muller pairs from the bits of blocks.
HWY_INLINE void Normals(const Words& first, const Words& second, Doubles& x, Doubles& y) {
  const Doubles log = Logarithm(Exactly(Right<11>(first) + AllWords(1)) * All(0x1p-53)), square = All(-2) * log;
  const Doubles radius = Each([&](int i) HWY_ATTR { return hn::Sqrt(square.v[i]); });

  const Doubles quarters = Exactly(Right<11>(second)) * All(0x1p-51), shifted = quarters + All(kRoundingShifter);
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

// Calls store(x, y, to) for every vector of pairs.
template <class T, class Store>
HWY_INLINE void ForNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, T* out, const Store& store) {
  ForPhiloxBlocks(seed, stream, block, count, {}, out, [&](const PhiloxWords& words, T* to) HWY_ATTR {
    for (int first = 0; first < kPhiloxVectors; first += kAtATime) {
      const Words a = EachWord([&](int i) HWY_ATTR { return words.first[first + i]; });
      const Words b = EachWord([&](int i) HWY_ATTR { return words.second[first + i]; });
      Doubles x, y;
      Normals(a, b, x, y);
      for (int i = 0; i < kAtATime; ++i, to += PhiloxStride()) store(x.v[i], y.v[i], to);
    }
  });
}

void NormalsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  ForNormals(seed, stream, block, count, out,
             [](F64Vec x, F64Vec y, double* to) HWY_ATTR { StorePairs(F64(), x, y, to); });
}

void FloatNormalsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  ForNormals(seed, stream, block, count, out,
             [](F64Vec x, F64Vec y, float* to) HWY_ATTR { StoreRoundedPairs(x, y, to); });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::internal {

HWY_EXPORT(NormalsImpl);
HWY_EXPORT(FloatNormalsImpl);

void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(NormalsImpl)(seed, stream, block, count, out);
}

void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(FloatNormalsImpl)(seed, stream, block, count, out);
}

}  // namespace assay::internal
#endif  // HWY_ONCE
