// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes: spans of phases on the host's threads, and what workers did meanwhile. Nothing is
// collected, and a span costs a load, until StartProfile().
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Phase : uint8_t {
  kPlan,    // suites, selection
  kInputs,  // of a case, and their hash
  kGolden,  // computed, or read from the store
  kBounds,  // tolerances of a contract
  kTwins,   // made with what they should give
  kMutationPower,
  kStart,    // a worker process, its plugin and device
  kQuery,    // asks a backend for implementations
  kPrepare,  // compiles and allocates
  kBind,     // shared memory and buffers of a set of operands
  kImages,   // operands with guards and prefills into shared memory
  kUpload,
  kExecute,
  kDownload,
  kObserve,  // guards, prefills and inputs after an execution
  kRelease,
  kJudge,      // an implementation, beside what else stands here
  kCompare,    // outputs with golden values
  kRelations,  // makes and checks them; their executions are above
  kPadded,     // the execution in another layout
  kTiming,     // an implementation, beside the loop
  kTimedLoop,  // repetitions
  kRecord,     // written
  kFailures,   // tensors of what failed
  kReports,
  kWait,  // for the golden values of the next cases, or for other devices
  kRun,   // all the rest
};
inline constexpr size_t kPhases = static_cast<size_t>(Phase::kRun) + 1;

const char* Name(Phase phase);
bool IsInBackend(Phase phase);  // the host waits for a worker meanwhile

using Nanoseconds = int64_t;  // of std::chrono::steady_clock, which all processes of a machine share

// Results that a span is about; "" for all of them.
struct SpanLabel {
  std::string case_id, backend, implementation;
};

struct HostSpan {
  Phase phase = Phase::kRun;
  size_t label = 0;
  Nanoseconds begin = 0, end = 0;
};

// A plugin at work, as its worker tells; within the span of the call.
struct WorkerSpan {
  Phase phase = Phase::kRun;
  size_t label = 0;
  Nanoseconds call = 0;  // begin of the host's span
  Nanoseconds begin = 0, end = 0;
  int64_t repetitions = 0;  // of a timed loop
  double timed_s = 0;       // the sum of their durations as the plugin measured them
};

// One thread, or several that came one after the other. Spans are nested, and in the order of their ends.
struct ThreadProfile {
  std::string thread;
  std::vector<SpanLabel> labels{1};
  std::vector<HostSpan> spans;
  std::vector<WorkerSpan> workers;
};

void StartProfile();
bool IsProfiling();
// Takes the spans that threads have collected until now. Open spans are left out.
std::vector<ThreadProfile> TakeProfile();
Nanoseconds NowNanoseconds();

struct ThreadTrack;  // of profile.cc

class Span {
 public:
  explicit Span(Phase phase);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Adds the worker's own times of the call that this span measures; clipped to the span.
  void AddWorker(Nanoseconds begin, double seconds, int64_t repetitions = 0, double timed_s = 0) const;

 private:
  ThreadTrack* track_ = nullptr;  // null: not profiling
  Phase phase_;
  Nanoseconds begin_ = 0;
};

// Spans of this thread are about these results while it lives.
class SpanContext {
 public:
  SpanContext(std::string_view case_id, std::string_view backend, std::string_view implementation);
  ~SpanContext();
  SpanContext(const SpanContext&) = delete;
  SpanContext& operator=(const SpanContext&) = delete;

 private:
  ThreadTrack* track_ = nullptr;
  size_t before_ = 0;
};

// Names this thread in profiles. Threads that begin after another of that name has ended stand on its track.
class ProfiledThread {
 public:
  explicit ProfiledThread(std::string name);
  ~ProfiledThread();
  ProfiledThread(const ProfiledThread&) = delete;
  ProfiledThread& operator=(const ProfiledThread&) = delete;
};

}  // namespace assay
