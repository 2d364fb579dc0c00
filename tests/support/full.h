// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

namespace assay::test {

// scripts/test.sh --full tries all seeds, sizes and settings of a rule, and other runs a part of them.
inline const bool kIsFull = std::getenv("ASSAY_TEST_FULL") != nullptr;

// Whether this turn of a loop over combinations is one for --full: other runs take each n-th.
inline bool IsLeftOut(uint64_t turn, uint64_t n) {
  return !kIsFull && turn % n != 0;
}

}  // namespace assay::test
