// SPDX-License-Identifier: Apache-2.0
// Block b of a stream is Philox with counter (b, stream) and key = seed. What takes 64 bits an element finds elements
// 2b and 2b + 1 in its two halves, what takes 32 bits finds 4b to 4b + 3 in its four words. Two normal deviates are one
// Box-Muller pair: sqrt(-2 ln u) (cos, sin)(2 pi v). In double u is of a block's first half, in (0, 1], and v of its
// second; the largest deviate is sqrt(106 ln 2) = 8.57. In float u and v are of two neighbouring words
// (float_normal.h), and the largest deviate is sqrt(66 ln 2) = 6.76.
#include "harness/core/data/fill/rng.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/base/multiversion.h"  // refuses -ffast-math
#include "harness/core/data/fill/float_normal.h"
#include "harness/core/data/fill/philox.h"
#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/scale_bits.h"

namespace assay {
namespace {

constexpr uint32_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;    // multipliers
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // key increments: golden ratio, sqrt(3) - 1

struct Block {
  uint32_t c0, c1, c2, c3;
};

inline Block PhiloxRounds(Block c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMul0} * c.c0;
    const uint64_t p1 = uint64_t{kMul1} * c.c2;
    c = {static_cast<uint32_t>(p1 >> 32) ^ c.c1 ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c.c3 ^ k1, static_cast<uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

inline Block WordsOfBlock(uint64_t block, uint64_t stream, uint64_t seed) {
  return PhiloxRounds({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(stream),
                       static_cast<uint32_t>(stream >> 32)},
                      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

struct Halves {
  uint64_t first, second;
};

inline Halves BitsOfBlock(uint64_t block, uint64_t stream, uint64_t seed) {
  const Block c = WordsOfBlock(block, stream, seed);
  return {c.c0 | uint64_t{c.c1} << 32, c.c2 | uint64_t{c.c3} << 32};
}

inline double UniformOf(uint64_t bits) {
  return internal::ExactDouble(bits >> 11) * 0x1p-53;
}

struct NormalPair {
  double first, second;
};

inline NormalPair NormalsOf(Halves bits) {
  const double u = internal::ExactDouble((bits.first >> 11) + 1) * 0x1p-53;
  const double radius = std::sqrt(-2.0 * internal::LogKernel(u));
  const internal::SinCos angle = internal::SinCosOfTurns(bits.second >> 11);
  return {radius * angle.cos, radius * angle.sin};
}

// Splits [first, first + out.size()) into whole blocks, done by `bulk(first block, blocks, destination)`, and what
// parts of blocks stand before and after them, done by `single(index)`.
template <class T, class Single, class Bulk>
void ByBlocks(uint64_t first, std::span<T> out, Single single, Bulk bulk) {
  constexpr size_t kPerBlock = 16 / sizeof(T);
  const size_t before = std::min<size_t>((kPerBlock - first % kPerBlock) % kPerBlock, out.size());
  const size_t blocks = (out.size() - before) / kPerBlock;
  for (size_t i = 0; i < before; ++i) out[i] = single(first + i);
  if (blocks > 0) bulk((first + before) / kPerBlock, static_cast<int64_t>(blocks), out.data() + before);
  for (size_t i = before + kPerBlock * blocks; i < out.size(); ++i) out[i] = single(first + i);
}

}  // namespace

uint64_t RandomStream::Bits(uint64_t i) const {
  const Halves halves = BitsOfBlock(i / 2, stream_, seed_);
  return i % 2 == 0 ? halves.first : halves.second;
}

uint32_t RandomStream::Word(uint64_t i) const {
  const Block c = WordsOfBlock(i / 4, stream_, seed_);
  return std::array{c.c0, c.c1, c.c2, c.c3}[i % 4];
}

double RandomStream::Uniform(uint64_t i) const {
  return UniformOf(Bits(i));
}

double RandomStream::Normal(uint64_t i) const {
  const NormalPair pair = NormalsOf(BitsOfBlock(i / 2, stream_, seed_));
  return i % 2 == 0 ? pair.first : pair.second;
}

float RandomStream::FloatSymmetric(uint64_t i) const {
  return static_cast<float>(static_cast<int32_t>(Word(i))) * 0x1p-31f;
}

float RandomStream::FloatNormal(uint64_t i) const {
  const internal::FloatPair pair = internal::FloatNormals(Word(i - i % 2), Word(i - i % 2 + 1));
  return i % 2 == 0 ? pair.first : pair.second;
}

uint64_t RandomStream::Below(uint64_t i, uint64_t bound) const {
  return internal::ScaleBits(Bits(i), bound);
}

void RandomStream::FillBits(uint64_t first, std::span<uint64_t> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return Bits(i); },
      [&](uint64_t block, int64_t count, uint64_t* to) { internal::PhiloxBits(seed_, stream_, block, count, to); });
}

void RandomStream::FillUniform(uint64_t first, std::span<double> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return Uniform(i); },
      [&](uint64_t block, int64_t count, double* to) { internal::PhiloxUniforms(seed_, stream_, block, count, to); });
}

void RandomStream::FillSymmetric(uint64_t first, std::span<double> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return 2 * Uniform(i) - 1; },
      [&](uint64_t block, int64_t count, double* to) { internal::PhiloxSymmetric(seed_, stream_, block, count, to); });
}

void RandomStream::FillSymmetric(uint64_t first, std::span<float> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return FloatSymmetric(i); },
      [&](uint64_t block, int64_t count, float* to) { internal::PhiloxSymmetric(seed_, stream_, block, count, to); });
}

void RandomStream::FillNormal(uint64_t first, std::span<double> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return Normal(i); },
      [&](uint64_t block, int64_t count, double* to) { internal::PhiloxNormals(seed_, stream_, block, count, to); });
}

void RandomStream::FillNormal(uint64_t first, std::span<float> out) const {
  ByBlocks(
      first, out, [&](uint64_t i) { return FloatNormal(i); },
      [&](uint64_t block, int64_t count, float* to) { internal::PhiloxNormals(seed_, stream_, block, count, to); });
}

}  // namespace assay
