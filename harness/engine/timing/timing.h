// SPDX-License-Identifier: Apache-2.0
// Input and result of a timed loop.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/exec/session.h"

namespace assay {

struct TimingRequest {
  int64_t min_repetitions = 10;  // that count, unless max_seconds pass before
  int64_t max_repetitions = 10000;
  double max_seconds = 1;                                         // time of all calls that execute, by the host's clock
  double most_seconds = std::numeric_limits<double>::infinity();  // time of these calls and the transfers between them
  double step_seconds = 0;                                        // time of the calls in one step, at least one call
  double call_seconds = 0.02;                                     // longest time of one call
  bool cold_cache = false;
  // seconds that an execution took before, perhaps beside other work; 0: unknown
  double expected_seconds = 0;
  // Asked between calls once there are min_repetitions: whether these suffice. Empty: never.
  std::function<bool(std::span<const double>)> enough;
};

// The operands of a timed loop, and what is known about them.
struct TimedTrial {
  const Operator* op = nullptr;
  const Problem* problem = nullptr;
  std::vector<InputSet> contents;  // the case's own inputs, and other ones
  // Hash of the right outputs, for each content; "" if unknown. Outputs with other hashes are kept to be judged.
  std::vector<std::string> known = {};
  double cache_bytes = 0;  // of the device; 0: unknown
  double launch_s = 0;     // what a launch may take beside a duration, as the user says; 0: what is usual
};

// Why no more repetitions were made. kNotFlushed: cold caches were asked for, and the plugin has no way to them.
enum class StopReason : uint8_t { kSettled, kTimeLimit, kRepetitions, kNotFlushed };
std::string_view Name(StopReason reason);  // "settled", "time limit", "repetitions", "not flushed"

// An output of the loop that nobody has judged yet, with its slices where the case has them.
struct TimedOutput {
  size_t content = 0;
  bool own_order = false;  // the data were the content's as it is, so that a deterministic result has the same bits
  Execution execution;
};

struct Timing {
  std::vector<double> seconds;         // of the executions that count
  std::vector<double> step_medians_s;  // of those of each step
  bool clock_is_device = false;
  bool has_host_times = false;  // in place of the plugin's, which no call accounted for
  bool cache_was_flushed = false;
  double host_seconds = 0;  // by the host's clock, of all calls that execute
  double wall_s = 0;        // mean of an execution by the same, with what a launch costs
  StopReason stop = StopReason::kTimeLimit;
  TransferTimes transfers;
  std::vector<TimedOutput> outputs;
  std::string changed_later;  // why an output was not final when its execution had returned; "": all were
  std::string contradiction;  // why the durations cannot be true; "": nothing speaks against them
  std::string unsure;         // why they may not be, where that may be the host's own doing; "": nothing
  double at_most_s = 0;  // what an execution takes at most, where the host's clock does not confirm them; 0: it does
};

// How a plan is timed: RunTiming() where nobody brings another way.
using TimingMethod =
    std::function<Call<Timing>(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request)>;

}  // namespace assay
