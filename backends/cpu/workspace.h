// SPDX-License-Identifier: Apache-2.0
// What plans say about the memory that they keep beside the operands.
#pragma once

#include <cstdint>
#include <string>

#include "backends/common/backend.h"

namespace cpu {

template <class... Vectors>
uint64_t BytesOf(const Vectors&... vectors) {
  return (... + (vectors.size() * sizeof(typename Vectors::value_type)));
}

// Of a plan with these vectors and, for each of `slots`, those that `of` adds up.
template <class Slots, class Of>
uint64_t BytesOfEach(const Slots& slots, Of of) {
  uint64_t bytes = 0;
  for (const auto& slot : slots) bytes += of(slot);
  return bytes;
}

}  // namespace cpu
