// SPDX-License-Identifier: Apache-2.0
// Each 64-bit lane holds one word of a block in its low half; what the shifts and products leave in the high half is
// ignored by the next product, and masked or shifted out at the end.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/base/philox.cc"
#include "harness/base/philox.h"

#include <algorithm>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U64 = hn::ScalableTag<uint64_t>;
using U64Vec = hn::Vec<U64>;

HWY_INLINE U64Vec LowHalf(U64Vec v) {
  return hn::And(v, hn::Set(U64(), 0xFFFFFFFFu));
}

// Of the low half of each lane.
HWY_INLINE U64Vec Product(U64Vec word, uint32_t factor) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(U64(), (hn::GetLane(word) & 0xFFFFFFFFu) * factor);
#else
  const hn::Repartition<uint32_t, U64> d32;
  return hn::MulEven(hn::BitCast(d32, word), hn::Set(d32, factor));
#endif
}

template <class D, class V>
HWY_INLINE void StorePairs(D d, V first, V second, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(first, d, to);
  hn::StoreU(second, d, to + 1);
#else
  hn::StoreInterleaved2(first, second, d, to);
#endif
}

// Of each round, and in memory, from where a vector operation takes them without one more of its own.
struct RoundKeys {
  static constexpr int kRounds = 10;
  explicit RoundKeys(uint64_t seed) {
    auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kRounds; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      first[round] = k0, second[round] = k1;
  }
  uint64_t first[kRounds], second[kRounds];
};

// The outputs of the blocks whose numbers are the lanes of `block`.
HWY_INLINE void Rounds(U64Vec block, const RoundKeys& keys, uint64_t stream, U64Vec& first, U64Vec& second) {
  const U64 d;
  U64Vec c0 = block, c1 = hn::ShiftRight<32>(block);
  U64Vec c2 = hn::Set(d, stream), c3 = hn::Set(d, stream >> 32);
  for (int round = 0; round < RoundKeys::kRounds; ++round) {
    const U64Vec p0 = Product(c0, 0xD2511F53), p1 = Product(c2, 0xCD9E8D57);
    c0 = hn::Xor3(hn::ShiftRight<32>(p1), c1, hn::Set(d, keys.first[round]));
    c1 = p1;
    c2 = hn::Xor3(hn::ShiftRight<32>(p0), c3, hn::Set(d, keys.second[round]));
    c3 = p0;
  }
  first = hn::Or(LowHalf(c0), hn::ShiftLeft<32>(c1));
  second = hn::Or(LowHalf(c2), hn::ShiftLeft<32>(c3));
}

// Calls store(first, second, to) for full vectors of blocks; the last ones by way of a buffer.
template <class T, class Store>
HWY_INLINE void ForBlocks(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, T* out, const Store& store) {
  const U64 d;
  const RoundKeys keys(seed);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  U64Vec first, second, numbers = hn::Add(hn::Iota(d, 0), hn::Set(d, block));
  const U64Vec step = hn::Set(d, static_cast<uint64_t>(lanes));
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    Rounds(numbers, keys, stream, first, second);
    store(first, second, out + 2 * j);
    numbers = hn::Add(numbers, step);
  }
  if (j == count) return;
  HWY_ALIGN T rest[2 * HWY_MAX_BYTES / sizeof(T)];
  Rounds(numbers, keys, stream, first, second);
  store(first, second, rest);
  std::copy_n(rest, 2 * (count - j), out + 2 * j);
}

void BitsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out) {
  ForBlocks(seed, stream, block, count, out,
            [](U64Vec first, U64Vec second, uint64_t* to) HWY_ATTR { StorePairs(U64(), first, second, to); });
}

using F64 = hn::RebindToFloat<U64>;

struct Affine {
  double scale, offset;
  HWY_INLINE hn::Vec<F64> operator()(U64Vec bits) const {
    const F64 d;
    const hn::RebindToSigned<U64> signed_lanes;
    const auto n = hn::ConvertTo(d, hn::BitCast(signed_lanes, hn::ShiftRight<11>(bits)));  // below 2^53: exact
    return hn::Add(hn::Mul(n, hn::Set(d, scale * 0x1p-53)), hn::Set(d, offset));
  }
};

void UniformsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                  double* out) {
  const Affine uniform{scale, offset};
  ForBlocks(seed, stream, block, count, out, [&](U64Vec first, U64Vec second, double* to) HWY_ATTR {
    StorePairs(F64(), uniform(first), uniform(second), to);
  });
}

// A 64-bit lane takes both floats of a block, the first one in its low half.
HWY_INLINE void StoreFloatPairs(hn::Vec<F64> first, hn::Vec<F64> second, float* to) {
  const hn::Rebind<float, F64> d;
#if HWY_TARGET == HWY_SCALAR
  StorePairs(d, hn::DemoteTo(d, first), hn::DemoteTo(d, second), to);
#else
  const hn::Rebind<uint32_t, U64> bits;
  const auto low = hn::PromoteTo(U64(), hn::BitCast(bits, hn::DemoteTo(d, first)));
  const auto high = hn::PromoteTo(U64(), hn::BitCast(bits, hn::DemoteTo(d, second)));
  const hn::Repartition<float, U64> pairs;
  hn::StoreU(hn::BitCast(pairs, hn::Or(low, hn::ShiftLeft<32>(high))), pairs, to);
#endif
}

void FloatUniformsImpl(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                       float* out) {
  const Affine uniform{scale, offset};
  ForBlocks(seed, stream, block, count, out, [&](U64Vec first, U64Vec second, float* to) HWY_ATTR {
    StoreFloatPairs(uniform(first), uniform(second), to);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::internal {

HWY_EXPORT(BitsImpl);
HWY_EXPORT(UniformsImpl);
HWY_EXPORT(FloatUniformsImpl);

void PhiloxBits(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(BitsImpl)(seed, stream, block, count, out);
}

void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                    double* out) {
  HWY_DYNAMIC_DISPATCH(UniformsImpl)(seed, stream, block, count, scale, offset, out);
}

void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                    float* out) {
  HWY_DYNAMIC_DISPATCH(FloatUniformsImpl)(seed, stream, block, count, scale, offset, out);
}

}  // namespace assay::internal
#endif  // HWY_ONCE
