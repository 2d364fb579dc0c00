// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: element i of stream s of a seed is a pure function of (seed, s, i), so the bits do not
// depend on threads, order or platform. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). Deviates use IEEE basic operations only (no libm), compiled without contraction.
#pragma once

#include <cstdint>
#include <span>

namespace assay {

class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint64_t Bits(uint64_t i) const;
  double Uniform(uint64_t i) const;                  // multiple of 2^-53 in [0, 1)
  double Normal(uint64_t i) const;                   // standard normal
  uint64_t Below(uint64_t i, uint64_t bound) const;  // integer in [0, bound)

  // 32-bit numbers, twice as many from the same blocks. Element i is no more related to Bits(i) than to any other
  // element of its block.
  uint32_t Word(uint64_t i) const;
  float FloatSymmetric(uint64_t i) const;  // multiple of 2^-31 in [-1, 1), rounded: 1 occurs
  float FloatNormal(uint64_t i) const;     // standard normal up to 6.76 standard deviations, never zero

  // Elements first, first+1, ... in bulk; equal to the calls above, faster.
  void FillBits(uint64_t first, std::span<uint64_t> out) const;
  void FillUniform(uint64_t first, std::span<double> out) const;
  void FillSymmetric(uint64_t first, std::span<double> out) const;  // 2 Uniform - 1
  void FillSymmetric(uint64_t first, std::span<float> out) const;   // FloatSymmetric
  void FillNormal(uint64_t first, std::span<double> out) const;
  void FillNormal(uint64_t first, std::span<float> out) const;  // FloatNormal

 private:
  uint64_t seed_, stream_;
};

}  // namespace assay
