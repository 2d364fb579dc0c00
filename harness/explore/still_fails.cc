// SPDX-License-Identifier: Apache-2.0
#include "harness/explore/still_fails.h"

#include "harness/results/exit_code.h"

namespace assay {

bool FailedAfterPassing(const Record& record) {
  return record.decided_by == kLaterExecutions;
}

bool FailsAlike(const PlannedCase& planned, const Device& device, const Record& failed, const LoopSettings& settings) {
  if (settings.runner.interrupted()) return false;
  try {
    const Result<CaseData> data = PrepareCase(*planned.Bound(), settings.tier, settings.store);
    if (!data) return false;
    CaseRunner runner(planned, *data, settings.runner);
    Attempt attempt = runner.JudgeAgain(device, failed.implementation);
    if (attempt.memory_fault) device.session->Restart();
    ApplyExpectations(settings.expectations, attempt.memory_fault, attempt.record);
    return attempt.record.verdict == failed.verdict && FailsRun(attempt.record) && !FailedAfterPassing(attempt.record);
  } catch (const std::exception&) {  // of the harness; the case that failed is there
    return false;
  }
}

}  // namespace assay
