// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace assay::test {

// scripts/test.sh --full tries all seeds, sizes and settings of a rule, and other runs a part of them.
inline const bool kIsFull = std::getenv("ASSAY_TEST_FULL") != nullptr;

}  // namespace assay::test
