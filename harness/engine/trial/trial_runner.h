// SPDX-License-Identifier: Apache-2.0
// The flow of one case on one device after the other: what it offers is tried, judged and recorded
// (Trial); what passed is timed, and what the timed runs produced is judged again.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/entropy.h"
#include "harness/core/base/profile.h"
#include "harness/engine/device/device.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/timing/timing_run.h"
#include "harness/engine/trial/attempt.h"
#include "harness/engine/trial/relations.h"
#include "harness/engine/trial/trial_context.h"
#include "harness/plan/per_backend.h"
#include "harness/plan/suite.h"
#include "harness/plan/sweep.h"

namespace assay {

class Ceilings;

// Record::decided_by of what only many executions showed.
inline constexpr std::string_view kLaterExecutions = "later executions";

struct RunnerSettings {
  std::vector<std::string> implementations;  // --impl; empty: all
  double perf_time_s = 0;                    // 0: no timing
  bool cold = true;                          // time with cold caches too
  std::shared_ptr<Ceilings> ceilings;        // null: no roofline
  PerBackend launches_us;                    // see TimedTrial
  size_t repetitions = 40;  // of cheap cases, where nothing is timed; half as many of those that are not `thorough`
  TimingMethod timing = RunTiming;  // of results that are not timed in turns
  RelationEffort relations = RelationEffort::kQuick;
  std::optional<Sweep> sweep;        // that made the cases
  std::string command;               // start of the reproduction line: "build/release/bin/assay run"
  std::vector<std::string> carried;  // options for that line that change results: {"--tier", "fast"}
  std::string plan_hash;
  std::function<bool()> interrupted;
  // Adds to the reason of a mismatch; null: adds nothing. Called by several threads.
  std::function<std::string(const PreparedCase&, const Attempt&)> explain;
  // Told of the first outputs of each result, and of no other try; null: nobody keeps any. Called by several threads.
  std::function<void(const Record&, const Problem&, const std::vector<Tensor>& outputs)> keep_outputs;
};

class TrialRunner {
 public:
  TrialRunner(const PlannedCase& planned, const PreparedCase& data, const RunnerSettings& settings);

  using Offered = std::function<void(const std::vector<std::string>&)>;

  // The correctness phase on one device, at the same time as on others with other sessions: one attempt per
  // implementation, handed out when it is judged, or one that says why there is none. `offered` gets the names of the
  // implementations before the first of them runs; `judged` are those that have their verdict already.
  void Judge(const Device& device, const std::function<void(Attempt)>& done, const Offered& offered = nullptr,
             const std::set<std::string>& judged = {});

  // The correctness phase of one implementation, by name; "": whether it answers what it offers.
  Attempt JudgeAgain(const Device& device, const std::string& implementation);

  // Result of a case on a device if the harness itself failed outside of any implementation.
  Attempt Faulted(const Device& device, const std::exception& fault) const;

  // One round of timing for an attempt that passed; nothing else should run meanwhile. May turn it into a mismatch.
  void Time(const Device& device, Attempt& attempt);

  // Times several builds of one plugin in short slices, in random order. Memory is that of all builds together.
  struct Timed {
    const Device* device = nullptr;
    Attempt* attempt = nullptr;
    // Filled in meanwhile.
    std::optional<PreparedPlan> plan;
    const ContractData* by = nullptr;
    std::shared_ptr<const std::vector<Tensor>> coded;  // inputs of the twin
    std::vector<InputSet> contents;
    std::shared_ptr<TimingRun> run;
    std::optional<WorkerFailure> failure;
    bool sleeps = true;  // the worker's threads, soon after each slice
  };
  void TimeInTurns(std::vector<Timed>& results);
  bool TakeTurn(Timed& timed, int64_t& processor);  // see TimingRun::Step()

  TrialContext& context() { return context_; }
  const TrialContext& context() const { return context_; }

 private:
  // The phase of one implementation, but for the record.
  void Try(const Device& device, const ImplementationInfo& implementation, Attempt& attempt);
  Attempt NewAttempt(const ImplementationInfo& implementation) const;
  void SetErrorMap(const ContractData& by, Attempt& attempt) const;
  void NoteAgreement(Attempt& attempt, std::vector<Agreement>& agreements) const;  // one of each output
  void FillRecord(const Device& device, Attempt& attempt) const;
  Record NewRecord(const Device& device) const;
  SpanContext LabelOf(const Timed& timed) const;
  bool Prepare(Timed& timed);  // false: it failed, and the attempt says so
  TimedTrial CaseOf(const Timed& timed) const;
  void EndTiming(Timed& timed, const Call<Timing>& timing, const PackageState& before);
  void SetLimits(const Device& device, Attempt& attempt) const;
  void SetContents(Timed& timed);
  // Many executions on the plan of a result that passed, which may turn it into a mismatch.
  Call<void> Repeat(const Device& device, const PreparedPlan& plan, const ContractData& by, Attempt& attempt);
  // `where`: "in the timed loop". `changed_later`: "" or what is wrong with all of them.
  void JudgeOutputs(std::span<const TimedOutput> outputs, const std::string& changed_later, std::string_view where,
                    const ContractData& by, Attempt& attempt) const;

  TrialContext context_;
  const RunnerSettings& settings_;
  std::mt19937_64 random_{DrawEntropy()};  // of orders alone
};

}  // namespace assay
