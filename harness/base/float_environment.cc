// SPDX-License-Identifier: Apache-2.0
#include "harness/base/float_environment.h"

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifdef __FAST_MATH__
#error "golden values need IEEE arithmetic: build without -ffast-math"
#endif

namespace assay {
namespace {

bool FlushesSubnormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  return (_mm_getcsr() & (kFlushToZero | kDenormalsAreZero)) != 0;
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & (uint64_t{1} << 24)) != 0;  // FZ
#else
  volatile double tiny = 0x1p-1074;
  return tiny * 1.0 == 0;
#endif
}

}  // namespace

Status CheckFloatEnvironment() {
  if (std::fegetround() != FE_TONEAREST) {
    return Fail(ErrorCode::kInternal,
                "the floating-point rounding mode is not to nearest; some library changed it for this thread");
  }
  if (FlushesSubnormals()) {
    return Fail(ErrorCode::kInternal,
                "subnormal numbers are flushed to zero in this thread; look for a library built with -ffast-math");
  }
  return {};
}

void RestoreFloatEnvironment() {
  std::fesetenv(FE_DFL_ENV);
}

void RequireFloatEnvironment(const char* where) {
  const Status status = CheckFloatEnvironment();
  if (status.has_value()) return;
  std::fprintf(stderr, "assay: %s: %s\n", where, status.error().message.c_str());
  std::abort();
}

}  // namespace assay
