// SPDX-License-Identifier: Apache-2.0
// Files that a profile is written to: totals of the spans of a run, and the JSON of Chrome's trace events, which
// Perfetto and chrome://tracing open.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/core/base/profile.h"

namespace assay {

struct PhaseTotal {
  std::string backend;  // "": of the host alone
  Phase phase = Phase::kRun;
  double seconds = 0;  // without what is nested; of all threads
  int64_t spans = 0;
};

struct ProfileTotals {
  double wall_s = 0;
  // Wall time with at least one thread waiting for a worker, whatever the others did meanwhile.
  double backends_s = 0;
  std::vector<PhaseTotal> phases;  // by backend, as they first appear, the host's own before; then by phase
};

// Totals between two moments, which enclose all spans.
ProfileTotals TotalsOf(const std::vector<ThreadProfile>& threads, Nanoseconds begin, Nanoseconds end);

// profile.json of a run folder; indented, with a newline at the end.
std::string ProfileJson(const ProfileTotals& totals);

// Beginning of every trace.
inline constexpr const char* kChromeTraceBeginning = R"({"displayTimeUnit":"ms","traceEvents":[)";

// Microseconds since `begin`. Process 1 is the host with a track for each thread; each backend is a process of its own,
// with what its plugin did by the worker's clock; an arrow leads there from the call. A timed loop is one event: when
// its repetitions began is not known, their number and measured time are arguments.
void WriteChromeTrace(std::ostream& out, const std::vector<ThreadProfile>& threads, Nanoseconds begin);

}  // namespace assay
