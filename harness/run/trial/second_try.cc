// SPDX-License-Identifier: Apache-2.0
#include "harness/run/trial/second_try.h"

#include <fmt/format.h>

namespace assay {
namespace {

std::string EndOf(const Attempt& attempt) {
  return fmt::format("{}{}{}", Name(attempt.verdict), attempt.reason.empty() ? "" : ": ", attempt.reason);
}

}  // namespace

bool EndedWithItsWorker(const Device& device, const Attempt& attempt) {
  return device.problem.empty() && (attempt.verdict == Verdict::kCrash || attempt.verdict == Verdict::kTimeout);
}

std::string HowItEnded(const Attempt& attempt) {
  const bool ended = attempt.verdict == Verdict::kCrash || attempt.verdict == Verdict::kTimeout || attempt.device_lost;
  return ended ? EndOf(attempt) : "";
}

void TryOnceMore(CaseRunner& runner, const Device& device, Attempt& attempt, bool timed) {
  device.session->Restart();
  Attempt second = runner.JudgeAgain(device, attempt.implementation);
  if (second.interrupted) return;
  if (timed && second.verdict == Verdict::kPass) runner.Time(device, second);
  if (second.verdict == attempt.verdict) {
    attempt.SetVerdict(attempt.verdict, attempt.result_class,
                       attempt.reason + " [so once more, alone in a fresh worker]");
    return;
  }
  attempt.SetVerdict(
      Verdict::kFlaky, ResultClass::kNone,
      fmt::format("it ends differently from try to try. First {}. Once more, alone in a fresh worker, {}",
                  EndOf(attempt), EndOf(second)));
}

}  // namespace assay
