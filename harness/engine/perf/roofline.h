// SPDX-License-Identifier: Apache-2.0
// The roofline of a device (Williams, Waterman and Patterson 2009): a case takes at least the time in which its bytes
// pass the memory, and at least the one in which its operations are done. Contradictions are reasons why a time cannot
// be true. Record::timing_invalid keeps every one. A record with a contradiction has no rate and no share of a ceiling,
// so that it is not ranked by them. Its times stay, to be struck out.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/model/record.h"

namespace assay {

// A time this many times shorter than a limit permits is no time of that work.
inline constexpr double kFasterThanPossible = 1.1;
// Data of fewer last-level caches than this may come from there.
inline constexpr double kCachesToExceed = 4;

// A rate and what it is known from.
struct Rate {
  Number giga_per_s;  // null: not known
  std::string from;   // "measured by assay: ...", "ceilings.toml:3", "a matmul of onednn"
  // Whether nothing can be faster. What another backend reached is a witness alone: an honest library beside a slow one
  // is above it.
  bool bounds = false;
  bool own = false;  // of the backend itself: its best case, which says nothing of what the device could do
};

struct Ceiling {
  Rate memory, compute;    // what shares are of
  Rate most_compute;       // bounds; beside a witness, or a measurement that narrow types may exceed
  double cache_bytes = 0;  // of the last-level cache
};

enum class Limiter : uint8_t { kUnknown, kMemory, kCompute };
std::string_view Name(Limiter limiter);  // "", "memory", "compute"

// Which ceiling the case meets first; unknown unless both are known.
Limiter LimiterOf(double flops, double bytes, const Ceiling& ceiling);

// Which ceilings a result is above, for sure: they may have been measured beside other work.
struct Above {
  bool memory = false, compute = false;
};

// Fills in the record's shares of the ceilings, what it is bound by, and whether its time can be true. The share is of
// the cold time, since the model takes every byte from memory; of the warm one where there is no cold. `fewest_flops`:
// what surely is computed, 0 where that is not known (Winograd, FFT). Without a time it does nothing.
Above SetRoofline(Record& record, const Ceiling& ceiling, double fewest_flops);

inline constexpr std::string_view kBetweenContradictions = " | ";

// Adds a reason to those that the record has, each once.
void AddContradiction(Record& record, std::string_view reason);

// Removes the reasons that begin with `begin`, for a check that repeats with better knowledge.
void WithdrawContradictions(Record& record, std::string_view begin);

// The rates that follow from its time (GetBelievedSeconds); none without a time that can be true.
void SetRates(Record& record);

}  // namespace assay
