// SPDX-License-Identifier: Apache-2.0
// Bytes of memory that plans keep in addition to the operands.
#pragma once

#include <cstdint>

#include "backends/common/backend.h"

namespace cpu {

template <class... Vectors>
uint64_t BytesOf(const Vectors&... vectors) {
  return (... + (vectors.size() * sizeof(typename Vectors::value_type)));
}

// Sum of `of` over the slots.
template <class Slots, class Of>
uint64_t BytesOfEach(const Slots& slots, Of of) {
  uint64_t bytes = 0;
  for (const auto& slot : slots) bytes += of(slot);
  return bytes;
}

}  // namespace cpu
