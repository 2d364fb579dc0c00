// SPDX-License-Identifier: Apache-2.0
// Philox blocks in vectors, for files that Highway compiles once per instruction set: included after hwy/highway.h,
// inside whose targets everything here lies. Each 64-bit lane holds one word of a block in its low half; what the
// products leave in the high half is ignored by the next product.
#if defined(ASSAY_PHILOX_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_PHILOX_LANES
#undef ASSAY_PHILOX_LANES
#else
#define ASSAY_PHILOX_LANES
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U64 = hn::ScalableTag<uint64_t>;
using F64 = hn::RebindToFloat<U64>;
using U64Vec = hn::Vec<U64>;
using F64Vec = hn::Vec<F64>;

// Vectors that are worked on at a time: a round is a chain of dependent operations.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kPhiloxVectors = 6;
#else
inline constexpr int kPhiloxVectors = 2;
#endif

inline constexpr uint32_t kPhiloxMul0 = 0xD2511F53, kPhiloxMul1 = 0xCD9E8D57;

// Of the low half of each lane.
HWY_INLINE U64Vec PhiloxProduct(U64Vec word, uint32_t factor) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(U64(), (hn::GetLane(word) & 0xFFFFFFFFu) * factor);
#else
  const hn::Repartition<uint32_t, U64> d32;
  return hn::MulEven(hn::BitCast(d32, word), hn::Set(d32, factor));
#endif
}

HWY_INLINE U64Vec SwapHalves(U64Vec v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::RotateRight<32>(v);
#else
  const hn::Repartition<uint32_t, U64> d32;
  return hn::BitCast(U64(), hn::Shuffle2301(hn::BitCast(d32, v)));
#endif
}

// Words of the last round in their places: `swapped` with its halves exchanged, of `word` the lower half, and the key,
// of all of which the bits of `mask`.
HWY_INLINE U64Vec JoinWords(U64Vec product, U64Vec word, U64Vec key, U64Vec mask) {
  const U64Vec swapped = SwapHalves(product), low_half = hn::Set(U64(), 0xFFFFFFFFu);
#if HWY_TARGET <= HWY_AVX3
  constexpr int kXorAnd = 0x78, kXorThenAnd = 0x28;  // a ^ (b & c); (a ^ b) & c
  const auto both = _mm512_ternarylogic_epi64(swapped.raw, word.raw, low_half.raw, kXorAnd);
  return U64Vec{_mm512_ternarylogic_epi64(both, key.raw, mask.raw, kXorThenAnd)};
#else
  return hn::And(hn::Xor3(swapped, hn::And(word, low_half), key), mask);
#endif
}

// What is wanted of the outputs: XORed with `flip`, and then the bits of `mask`.
struct PhiloxForm {
  uint64_t flip = 0, mask = ~uint64_t{0};
};

// What blocks with the same upper half of their number share. A block's number enters by its lower half alone, so half
// of the first two rounds is the same for all of them. In memory as whole vectors, from where a vector operation takes
// them without one more of its own.
class PhiloxShared {
 public:
  static constexpr int kRounds = 10;

  PhiloxShared(uint64_t seed, uint64_t stream, uint64_t block_high, PhiloxForm form) {
    uint64_t key0[kRounds], key1[kRounds];
    auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kRounds; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      key0[round] = k0, key1[round] = k1;
    const uint64_t product1 = uint64_t{kPhiloxMul1} * static_cast<uint32_t>(stream);
    const uint64_t word0 = (product1 >> 32) ^ block_high ^ key0[0];
    const uint64_t product0 = uint64_t{kPhiloxMul0} * static_cast<uint32_t>(word0);
    key1[0] ^= stream >> 32;
    key0[1] ^= static_cast<uint32_t>(product1);
    key1[1] ^= product0 >> 32;
    key1[2] ^= static_cast<uint32_t>(product0);
    key0[kRounds - 1] ^= form.flip;
    key1[kRounds - 1] ^= form.flip;
    for (int round = 0; round < kRounds; ++round) {
      std::fill_n(keys_[0][round], kMost, key0[round]);
      std::fill_n(keys_[1][round], kMost, key1[round]);
    }
  }
  HWY_INLINE U64Vec Key0(int round) const { return hn::Load(U64(), keys_[0][round]); }
  HWY_INLINE U64Vec Key1(int round) const { return hn::Load(U64(), keys_[1][round]); }

 private:
  static constexpr size_t kMost = HWY_MAX_BYTES / sizeof(uint64_t);
  HWY_ALIGN uint64_t keys_[2][kRounds][kMost];
};

struct PhiloxWords {
  U64Vec first[kPhiloxVectors], second[kPhiloxVectors];
};

// The outputs of blocks, from the first product of the first round.
HWY_INLINE PhiloxWords PhiloxRounds(const PhiloxShared& shared, const U64Vec (&product)[kPhiloxVectors], U64Vec mask) {
  U64Vec c0[kPhiloxVectors], c1[kPhiloxVectors], c2[kPhiloxVectors], c3[kPhiloxVectors];
  for (int i = 0; i < kPhiloxVectors; ++i) {
    const U64Vec p1 = PhiloxProduct(hn::Xor(hn::ShiftRight<32>(product[i]), shared.Key1(0)), kPhiloxMul1);
    c0[i] = hn::Xor(hn::ShiftRight<32>(p1), shared.Key0(1));
    c1[i] = p1;
    c2[i] = hn::Xor(product[i], shared.Key1(1));
  }
  for (int i = 0; i < kPhiloxVectors; ++i) {
    const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
    c0[i] = hn::Xor3(hn::ShiftRight<32>(p1), c1[i], shared.Key0(2));
    c1[i] = p1;
    c2[i] = hn::Xor(hn::ShiftRight<32>(p0), shared.Key1(2));
    c3[i] = p0;
  }
  constexpr int kLast = PhiloxShared::kRounds - 1;
  for (int round = 3; round < kLast; ++round) {
    for (int i = 0; i < kPhiloxVectors; ++i) {
      const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
      c0[i] = hn::Xor3(hn::ShiftRight<32>(p1), c1[i], shared.Key0(round));
      c1[i] = p1;
      c2[i] = hn::Xor3(hn::ShiftRight<32>(p0), c3[i], shared.Key1(round));
      c3[i] = p0;
    }
  }
  PhiloxWords out;
  for (int i = 0; i < kPhiloxVectors; ++i) {
    const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
    out.first[i] = JoinWords(p1, c1[i], shared.Key0(kLast), mask);
    out.second[i] = JoinWords(p0, c3[i], shared.Key1(kLast), mask);
  }
  return out;
}

// Lane i of a vector of blocks stands at the place where interleaving two vectors within 128 bits puts it in order.
HWY_INLINE U64Vec PhiloxOffsets() {
  const U64 d;
  HWY_ALIGN uint64_t offsets[HWY_MAX_BYTES / sizeof(uint64_t)];
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < lanes; ++i) offsets[i] = i / 2 + (i % 2) * (lanes / 2);
  return hn::Load(d, offsets);
}

// How many values a vector of blocks makes.
HWY_INLINE int64_t PhiloxStride() {
  return 2 * static_cast<int64_t>(hn::Lanes(U64()));
}

// The pairs of a vector of blocks, in the order of their numbers.
template <class D, class V>
HWY_INLINE void StorePairs(D d, V first, V second, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(first, d, to);
  hn::StoreU(second, d, to + 1);
#else
  hn::StoreU(hn::InterleaveLower(d, first, second), d, to);
  hn::StoreU(hn::InterleaveUpper(d, first, second), d, to + hn::Lanes(d));
#endif
}

// Where interleaving whole vectors of `lanes` pairs finds them.
HWY_INLINE void PlacesOfPairs(int32_t lanes, int32_t* places) {
  for (int32_t block = 0; block < lanes; ++block) {
    const int32_t lane = block < lanes / 2 ? 2 * block : 2 * (block - lanes / 2) + 1;
    places[2 * block] = lane, places[2 * block + 1] = lanes + lane;
  }
}

// The same of doubles, rounded to float.
HWY_INLINE void StoreRoundedPairs(F64Vec first, F64Vec second, float* to) {
  const hn::Rebind<float, F64> half;
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(hn::DemoteTo(half, first), half, to);
  hn::StoreU(hn::DemoteTo(half, second), half, to + 1);
#else
  const hn::Repartition<float, F64> full;
  HWY_ALIGN int32_t places[HWY_MAX_BYTES / sizeof(int32_t)];
  PlacesOfPairs(static_cast<int32_t>(hn::Lanes(F64())), places);
  const auto both = hn::Combine(full, hn::DemoteTo(half, second), hn::DemoteTo(half, first));
  hn::StoreU(hn::TableLookupLanes(both, hn::SetTableIndices(full, places)), full, to);
#endif
}

// Calls store(words, to) for the blocks [block, block + count), kPhiloxVectors vectors of them at a time; the last ones
// go by way of a buffer.
template <class T, class Store>
HWY_INLINE void ForPhiloxBlocks(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, PhiloxForm form, T* out,
                                const Store& store) {
  const U64 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), stride = kPhiloxVectors * lanes;
  const U64Vec offsets = PhiloxOffsets(), mask = hn::Set(d, form.mask);
  const U64Vec step = hn::Set(d, uint64_t{kPhiloxMul0} * static_cast<uint64_t>(stride));
  while (count > 0) {
    const uint64_t low = block & 0xFFFFFFFFu;
    const int64_t same = std::min(count, static_cast<int64_t>((uint64_t{1} << 32) - low));
    const PhiloxShared shared(seed, stream, block >> 32, form);
    // Products of consecutive numbers differ by the factor. What would carry out of a number is never used.
    U64Vec product[kPhiloxVectors];
    for (int i = 0; i < kPhiloxVectors; ++i) {
      const U64Vec number = hn::Add(offsets, hn::Set(d, low + static_cast<uint64_t>(i * lanes)));
      product[i] = PhiloxProduct(number, kPhiloxMul0);
    }
    int64_t j = 0;
    for (; j + stride <= same; j += stride) {
      store(PhiloxRounds(shared, product, mask), out + 2 * j);
      for (U64Vec& p : product) p = hn::Add(p, step);
    }
    if (j < same) {
      HWY_ALIGN T rest[2 * kPhiloxVectors * HWY_MAX_BYTES / sizeof(uint64_t)];
      store(PhiloxRounds(shared, product, mask), rest);
      std::copy_n(rest, 2 * (same - j), out + 2 * j);
    }
    block += static_cast<uint64_t>(same);
    out += 2 * same;
    count -= same;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#endif
