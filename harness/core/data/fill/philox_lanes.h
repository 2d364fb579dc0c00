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
#include <bit>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U64 = hn::ScalableTag<uint64_t>;
using F64 = hn::RebindToFloat<U64>;
using U64Vec = hn::Vec<U64>;
using F64Vec = hn::Vec<F64>;

inline constexpr uint32_t kPhiloxMul0 = 0xD2511F53, kPhiloxMul1 = 0xCD9E8D57;

// Multiplies the low half of each lane by the factor.
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

// One output of the last round, not yet combined: its lower half is the upper half of `product`, XORed with the lower
// halves of `word` and `key`; its upper half is the lower half of `product`, XORed with the upper half of `key`.
struct PhiloxOutput {
  U64Vec product, word, key;
};

HWY_INLINE U64Vec Joined(const PhiloxOutput& output, uint64_t mask = ~uint64_t{0}) {
  const U64Vec swapped = SwapHalves(output.product), low_half = hn::Set(U64(), 0xFFFFFFFFu);
#if HWY_TARGET <= HWY_AVX3
  constexpr int kXorAnd = 0x78, kXorThenAnd = 0x28;  // a ^ (b & c); (a ^ b) & c
  const auto both = _mm512_ternarylogic_epi64(swapped.raw, output.word.raw, low_half.raw, kXorAnd);
  return U64Vec{_mm512_ternarylogic_epi64(both, output.key.raw, hn::Set(U64(), mask).raw, kXorThenAnd)};
#else
  return hn::And(hn::Xor3(swapped, hn::And(output.word, low_half), output.key), hn::Set(U64(), mask));
#endif
}

// The halves of an output in the low halves of lanes, where the key's upper half is zero. Above them stands anything.
HWY_INLINE U64Vec LowerHalf(const PhiloxOutput& output) {
  return hn::Xor3(hn::ShiftRight<32>(output.product), output.word, output.key);
}
HWY_INLINE U64Vec UpperHalf(const PhiloxOutput& output) {
  return output.product;
}

// u, a multiple of 2^-53 in [0, 1), is the upper 53 bits of an output. Everything here is exact.
#undef ASSAY_HALVES_OF_DOUBLES
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3 && HWY_TARGET < HWY_EMU128
#define ASSAY_HALVES_OF_DOUBLES 1
// No instruction makes doubles of 64-bit integers. Each half goes into the low bits of a double instead, whose high
// bits the lower one has from the key.
inline constexpr uint64_t kLowerBits = 0xFFFFF800;  // of u

template <int kScale>
struct HalvesOfDoubles {
  static constexpr double kHigh = kScale * 0x1p20, kLow = kScale * 0x1p-12;  // last bits: kScale times 2^-32, 2^-64
  static constexpr uint64_t kFlip = std::bit_cast<uint64_t>(kLow);           // and kLowerBits as the mask

  HWY_INLINE explicit HalvesOfDoubles(const PhiloxOutput& output) {
    const hn::Repartition<uint32_t, U64> d32;
    const U64Vec high_bits = hn::Set(U64(), std::bit_cast<uint64_t>(kHigh));
    high = hn::BitCast(F64(), hn::OddEven(hn::BitCast(d32, high_bits), hn::BitCast(d32, UpperHalf(output))));
    const U64Vec both = hn::Xor(hn::ShiftRight<32>(output.product), output.word);
    low = hn::BitCast(F64(), hn::Xor(hn::And(both, hn::Set(U64(), kLowerBits)), output.key));
  }
  F64Vec high, low;
};

// kScale u - minus, of at most 53 bits.
template <int kScale>
HWY_INLINE F64Vec ScaledUniform(const PhiloxOutput& output, double minus) {
  using Halves = HalvesOfDoubles<kScale>;
  const Halves halves(output);
  return hn::Add(hn::Sub(halves.high, hn::Set(F64(), Halves::kHigh + Halves::kLow + minus)), halves.low);
}
#else
#define ASSAY_HALVES_OF_DOUBLES 0
#endif

// Changes the last round's keys in advance: keeps the bits of `mask` and XORs a constant into each output.
struct PhiloxForm {
  uint64_t mask = ~uint64_t{0}, flip_first = 0, flip_second = 0;
};

// Precomputed state shared by blocks with the same upper half of their number. A block's number enters by its lower
// half alone, so half of the first two rounds is the same for all of them. It is kept in memory as whole vectors, which
// vector operations take as memory operands without a separate load.
class PhiloxShared {
 public:
  static constexpr int kRounds = 10;

  PhiloxShared(uint64_t seed, uint64_t stream, uint64_t block_high, const PhiloxForm& form) {
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
    key0[kRounds - 1] = (key0[kRounds - 1] & form.mask) ^ form.flip_first;
    key1[kRounds - 1] = (key1[kRounds - 1] & form.mask) ^ form.flip_second;
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

template <int n>
struct PhiloxOutputs {
  PhiloxOutput first[n], second[n];
};

// The outputs of n vectors of blocks, from the first product of the first round.
template <int n>
HWY_INLINE PhiloxOutputs<n> PhiloxRounds(const PhiloxShared& shared, const U64Vec (&product)[n]) {
  U64Vec c0[n], c1[n], c2[n], c3[n];
  for (int i = 0; i < n; ++i) {
    const U64Vec p1 = PhiloxProduct(hn::Xor(hn::ShiftRight<32>(product[i]), shared.Key1(0)), kPhiloxMul1);
    c0[i] = hn::Xor(hn::ShiftRight<32>(p1), shared.Key0(1));
    c1[i] = p1;
    c2[i] = hn::Xor(product[i], shared.Key1(1));
  }
  for (int i = 0; i < n; ++i) {
    const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
    c0[i] = hn::Xor3(hn::ShiftRight<32>(p1), c1[i], shared.Key0(2));
    c1[i] = p1;
    c2[i] = hn::Xor(hn::ShiftRight<32>(p0), shared.Key1(2));
    c3[i] = p0;
  }
  constexpr int kLast = PhiloxShared::kRounds - 1;
  for (int round = 3; round < kLast; ++round) {
    for (int i = 0; i < n; ++i) {
      const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
      c0[i] = hn::Xor3(hn::ShiftRight<32>(p1), c1[i], shared.Key0(round));
      c1[i] = p1;
      c2[i] = hn::Xor3(hn::ShiftRight<32>(p0), c3[i], shared.Key1(round));
      c3[i] = p0;
    }
  }
  PhiloxOutputs<n> out;
  for (int i = 0; i < n; ++i) {
    const U64Vec p0 = PhiloxProduct(c0[i], kPhiloxMul0), p1 = PhiloxProduct(c2[i], kPhiloxMul1);
    out.first[i] = {p1, c1[i], shared.Key0(kLast)};
    out.second[i] = {p0, c3[i], shared.Key1(kLast)};
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

// How many values a block makes: all of its bits go into them.
template <class T>
inline constexpr int64_t kPerBlock = 16 / sizeof(T);

// Vectors of blocks that are worked on at a time: a round is a chain of dependent operations.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kPhiloxVectors = 6;
#else
inline constexpr int kPhiloxVectors = 3;
#endif

// Where values go, past the caches or not; `to` is aligned to a vector if so.
template <class T, bool kPastCaches>
struct Target {
  T* to;

  template <class D>
  HWY_INLINE void Put(D d, hn::Vec<D> a, hn::Vec<D> b) {
    for (const auto& v : {a, b}) {
      if constexpr (kPastCaches) {
        hn::Stream(v, d, to);
      } else {
        hn::StoreU(v, d, to);
      }
      to += hn::Lanes(d);
    }
  }
};

// Both outputs of a vector of blocks, as values of D, in the order of their blocks.
template <class D, class V, class Target>
HWY_INLINE void StorePairs(D d, V first, V second, Target& target) {
#if HWY_TARGET == HWY_SCALAR
  target.Put(d, first, second);
#else
  const U64 pairs;
  const U64Vec a = hn::BitCast(pairs, first), b = hn::BitCast(pairs, second);
  target.Put(d, hn::BitCast(d, hn::InterleaveLower(pairs, a, b)), hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
#endif
}

// From this size on, what one call writes would not be found in a second-level cache, and hardly in a third; a store
// past the caches spares the read of each line before it is written.
inline constexpr int64_t kBytesPastCaches = int64_t{8} << 20;

// Calls store(outputs, target) for n vectors of blocks at a time, as a round is a chain of dependent operations, and as
// often as they fit in `count` blocks; `product` goes on with them. How many blocks that were.
template <bool kPastCaches, int n, class T, class Store>
HWY_INLINE int64_t ForWholeVectors(const PhiloxShared& shared, U64Vec (&product)[n], int64_t count, T* out,
                                   const Store& store) {
  const int64_t stride = n * static_cast<int64_t>(hn::Lanes(U64()));
  const U64Vec step = hn::Set(U64(), uint64_t{kPhiloxMul0} * static_cast<uint64_t>(stride));
  int64_t j = 0;
  for (; j + stride <= count; j += stride) {
    store(PhiloxRounds(shared, product), Target<T, kPastCaches>{out + kPerBlock<T> * j});
    for (U64Vec& p : product) p = hn::Add(p, step);
  }
  if constexpr (kPastCaches) hwy::FlushStream();
  return j;
}

// Calls `store` for all blocks of [block, block + count); the last ones pass through a buffer.
template <int n, class T, class Store>
HWY_INLINE void ForPhiloxBlocks(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, const PhiloxForm& form,
                                T* out, const Store& store) {
  const U64 d;
  const U64Vec offsets = PhiloxOffsets();
  while (count > 0) {
    const uint64_t low = block & 0xFFFFFFFFu;
    const int64_t same = std::min(count, static_cast<int64_t>((uint64_t{1} << 32) - low));
    const PhiloxShared shared(seed, stream, block >> 32, form);
    // Products of consecutive numbers differ by the factor. What would carry out of a number is never used.
    U64Vec product[n];
    for (uint64_t i = 0; i < n; ++i) {
      product[i] = PhiloxProduct(hn::Add(offsets, hn::Set(d, low + i * hn::Lanes(d))), kPhiloxMul0);
    }
    const bool aligned = reinterpret_cast<uintptr_t>(out) % HWY_MAX_BYTES == 0;
    const int64_t j = aligned && 16 * same >= kBytesPastCaches
                          ? ForWholeVectors<true>(shared, product, same, out, store)
                          : ForWholeVectors<false>(shared, product, same, out, store);
    if (j < same) {
      HWY_ALIGN T rest[kPerBlock<T> * n * HWY_MAX_BYTES / sizeof(uint64_t)];
      store(PhiloxRounds(shared, product), Target<T, false>{rest});
      std::copy_n(rest, kPerBlock<T> * (same - j), out + kPerBlock<T> * j);
    }
    block += static_cast<uint64_t>(same);
    out += kPerBlock<T> * same;
    count -= same;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::internal
HWY_AFTER_NAMESPACE();

#endif
