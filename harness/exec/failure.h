// SPDX-License-Identifier: Apache-2.0
// Ways in which a backend can fail in its worker process. Each is a verdict of the case, never the end of a run
// (harness/engine/results/README.md#what-happened-and-what-follows).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "harness/core/model/verdict_kind.h"

namespace assay {

enum class FailureKind : uint8_t {
  kUnsupported,  // the backend does not offer it
  kUnavailable,  // no device, no driver
  kNoPlugin,     // the file is no library that can be loaded, or none of this ABI
  kError,        // the backend returned an error, or broke a rule of the ABI that the worker survived
  kOutOfMemory,
  kDeviceLost,
  kMemoryFault,  // a library wrote where it may not, as the plugin found
  kCrash,        // the worker ended during the call: signal or exit
  kTimeout,      // it was killed at the deadline
  kProtocol,     // what came back is not a message, or out of bounds
  kInterrupted,  // the user ended the run, and the call with it: nothing is known of it
  kHost,         // this machine gave assay no process, file or memory for it: the backend was not asked
};

// Whether a result that ended so is tried again, alone in a fresh worker.
enum class Retry : uint8_t {
  kNever,
  kOnRequest,   // with --retries
  kAfterReset,  // with --on-device-lost, whose command runs before, or --retries
  kOnce,        // by itself; --retries says how often
};

struct FailureRule {
  FailureKind kind;
  std::string_view name;
  Verdict verdict;   // of the case; of kInterrupted, which leaves no record, what a report says
  bool ends_worker;  // the next call starts a fresh one
  Retry retry;
  bool counts;  // towards --set-aside-after
};

// Follows the order of FailureKind. A test compares the guide's table with it.
inline constexpr FailureRule kFailureRules[] = {
    {FailureKind::kUnsupported, "unsupported", Verdict::kUnsupported, false, Retry::kNever, false},
    {FailureKind::kUnavailable, "unavailable", Verdict::kUnavailable, false, Retry::kNever, false},
    {FailureKind::kNoPlugin, "no_plugin", Verdict::kError, false, Retry::kNever, false},
    {FailureKind::kError, "error", Verdict::kError, false, Retry::kOnRequest, false},
    {FailureKind::kOutOfMemory, "out_of_memory", Verdict::kError, false, Retry::kOnRequest, false},
    {FailureKind::kDeviceLost, "device_lost", Verdict::kError, true, Retry::kAfterReset, true},
    {FailureKind::kMemoryFault, "memory_fault", Verdict::kError, true, Retry::kOnRequest, false},
    {FailureKind::kCrash, "crash", Verdict::kCrash, true, Retry::kOnce, true},
    {FailureKind::kTimeout, "timeout", Verdict::kTimeout, true, Retry::kOnce, true},
    {FailureKind::kProtocol, "protocol", Verdict::kError, true, Retry::kOnRequest, false},
    {FailureKind::kInterrupted, "interrupted", Verdict::kMissing, true, Retry::kNever, false},
    {FailureKind::kHost, "host", Verdict::kError, false, Retry::kOnRequest, false},
};

constexpr const FailureRule& RuleOf(FailureKind kind) {
  return kFailureRules[static_cast<size_t>(kind)];
}

constexpr std::string_view Name(FailureKind kind) {
  return RuleOf(kind).name;
}

struct WorkerFailure {
  FailureKind kind = FailureKind::kError;
  std::string message;
};

// The worker's own answer to "load"; no assay_status of 32 bits reaches it.
inline constexpr int64_t kNoPluginStatus = int64_t{1} << 32;

// Maps an assay_status other than ASSAY_OK, or kNoPluginStatus, to its kind.
FailureKind FailureKindOf(int64_t status);

template <class T>
using Call = tl::expected<T, WorkerFailure>;

inline tl::unexpected<WorkerFailure> CallFailed(FailureKind kind, std::string message) {
  return tl::unexpected<WorkerFailure>(WorkerFailure{kind, std::move(message)});
}

}  // namespace assay
