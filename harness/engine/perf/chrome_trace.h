// SPDX-License-Identifier: Apache-2.0
// A profile in the JSON of Chrome's trace events, which Perfetto and chrome://tracing open.
#pragma once

#include <ostream>
#include <vector>

#include "harness/core/base/profile.h"

namespace assay {

// Beginning of every trace.
inline constexpr const char* kChromeTraceBeginning = R"({"displayTimeUnit":"ms","traceEvents":[)";

// Microseconds since `begin`. Process 1 is the host with a track for each thread; each backend is a process of its own,
// with what its plugin did by the worker's clock; an arrow leads there from the call. A timed loop is one event: when
// its repetitions began is not known, their number and measured time are arguments.
void WriteChromeTrace(std::ostream& out, const std::vector<ThreadProfile>& threads, Nanoseconds begin);

}  // namespace assay
