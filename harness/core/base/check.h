// SPDX-License-Identifier: Apache-2.0
// ASSAY_CHECK(condition): a precondition that only a programmer's error can break. Always on; aborts with the place.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace assay {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace assay

#define ASSAY_CHECK(condition) ((condition) ? void(0) : ::assay::CheckFailed(#condition, __FILE__, __LINE__))
