// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/float_environment.h"

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef __FAST_MATH__
#error "golden values need IEEE arithmetic: build without -ffast-math"
#endif

namespace assay {
namespace {

struct FloatModes {
  bool to_nearest = true, flushes = false, traps = false;
};

#if defined(__x86_64__)
// Reads the modes of SSE and of the x87, which `long double` uses: fegetround() and fegetexcept() ask the x87 alone.
FloatModes CurrentModes() {
  constexpr unsigned kMasks = 0x1f80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kRounding = 0x6000;
  constexpr uint16_t kOldMasks = 0x3f, kOldRounding = 0x0c00;
  const unsigned sse = _mm_getcsr();
  uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return {(sse & kRounding) == 0 && (x87 & kOldRounding) == 0, (sse & (kFlushToZero | kDenormalsAreZero)) != 0,
          (sse & kMasks) != kMasks || (x87 & kOldMasks) != kOldMasks};
}
#elif defined(__aarch64__)
FloatModes CurrentModes() {
  constexpr uint64_t kFlush = 1 << 24, kFlushHalf = 1 << 19, kRounding = 3 << 22, kTraps = 0x9f00;
  uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return {(fpcr & kRounding) == 0, (fpcr & (kFlush | kFlushHalf)) != 0, (fpcr & kTraps) != 0};
}
#else
FloatModes CurrentModes() {
  volatile double tiny = 0x1p-1074;
  return {std::fegetround() == FE_TONEAREST, tiny * 1.0 == 0, false};
}
#endif

}  // namespace

Status CheckFloatEnvironment() {
  const FloatModes modes = CurrentModes();
  if (!modes.to_nearest) {
    return Fail(ErrorCode::kInternal,
                "the floating-point rounding mode is not to nearest; some library changed it for this thread");
  }
  if (modes.flushes) {
    return Fail(ErrorCode::kInternal,
                "subnormal numbers are flushed to zero in this thread; look for a library built with -ffast-math");
  }
  if (modes.traps) {
    return Fail(ErrorCode::kInternal,
                "a floating-point exception would end this thread (SIGFPE); some library unmasked its trap, as "
                "feenableexcept() does");
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
