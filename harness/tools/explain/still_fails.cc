// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/still_fails.h"

#include <optional>
#include <utility>

#include "harness/engine/results/exit_code.h"

namespace assay {
namespace {

// Returns nullopt if the case cannot be prepared or the run is interrupted.
std::optional<Record> JudgeOn(const PlannedCase& planned, const Device& device, const std::string& implementation,
                              const RunPolicy& settings) {
  if (settings.runner.interrupted()) return std::nullopt;
  try {
    const Result<PreparedCase> data = PrepareCase(*planned.Bound(), settings.tier, settings.store);
    if (!data) return std::nullopt;
    TrialRunner runner(planned, *data, settings.runner);
    Attempt attempt = runner.JudgeAgain(device, implementation);
    if (attempt.interrupted) return std::nullopt;
    if (attempt.memory_fault) device.session->Restart();
    ApplyExpectations(settings.expectations, attempt.memory_fault, attempt.record);
    return std::move(attempt.record);
  } catch (const std::exception&) {  // of the harness; the case that failed is there
    return std::nullopt;
  }
}

}  // namespace

bool HasFailedAfterPassing(const Record& record) {
  return record.decided_by == kLaterExecutions;
}

bool FailsAlike(const PlannedCase& planned, const Device& device, const Record& failed, const RunPolicy& settings) {
  const std::optional<Record> again = JudgeOn(planned, device, failed.implementation, settings);
  return again && again->verdict == failed.verdict && FailsRun(*again) && !HasFailedAfterPassing(*again);
}

bool HasPassedOn(const PlannedCase& planned, const Device& device, const std::string& implementation,
                 const RunPolicy& settings) {
  const std::optional<Record> there = JudgeOn(planned, device, implementation, settings);
  return there && there->verdict == Name(Verdict::kPass) && !FailsRun(*there);
}

}  // namespace assay
