// SPDX-License-Identifier: Apache-2.0
// 64 random bits to an integer below a bound, by the high half of a product (Lemire 2019, without rejection: each
// value's probability is off by less than 2^-64). A bound of 0 gives 0.
#pragma once

#include <cstdint>

namespace assay::internal {

inline uint64_t ScaleBits(uint64_t bits, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

}  // namespace assay::internal
