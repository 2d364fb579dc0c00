// SPDX-License-Identifier: Apache-2.0
// The roofline of a device (Williams, Waterman and Patterson 2009): a case takes at least the time in which its bytes
// pass the memory, and at least the one in which its operations are done.
#pragma once

#include <string>
#include <string_view>

#include "harness/model/record.h"

namespace assay {

// A time this many times shorter than the roofline permits is no time of that work.
inline constexpr double kFasterThanPossible = 1.1;
// Data of fewer last-level caches than this may come from there.
inline constexpr double kCachesToExceed = 4;

// Measured; null where nothing could be.
struct Ceiling {
  Number gbytes_per_s;     // of memory
  Number gflops;           // in the arithmetic of the case
  double cache_bytes = 0;  // of the last-level cache
};

enum class Limiter : uint8_t { kUnknown, kMemory, kCompute };
std::string_view Name(Limiter limiter);  // "", "memory", "compute"

// Which ceiling the case meets first; unknown unless both are measured.
Limiter LimiterOf(double flops, double bytes, const Ceiling& ceiling);

// Fills in the record's shares of the ceilings, what it is bound by, and whether its time can be true. The share is of
// the cold time, since the model takes every byte from memory; of the warm one where there is no cold. `direct`: its
// operations are those that are counted (no Winograd, no FFT). Without a time it does nothing.
void SetRoofline(Record& record, const Ceiling& ceiling, bool direct);

}  // namespace assay
