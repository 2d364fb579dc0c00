// SPDX-License-Identifier: Apache-2.0
#include "harness/run/second_try.h"

#include <fmt/format.h>

#include "harness/run/record_fields.h"

namespace assay {
namespace {

std::string EndOf(const Attempt& attempt) {
  const std::string& reason = attempt.record.reason;
  return fmt::format("{}{}{}", attempt.record.verdict, reason.empty() ? "" : ": ", reason);
}

}  // namespace

bool EndedWithItsWorker(const Device& column, const Attempt& attempt) {
  return column.problem.empty() && (attempt.verdict == Verdict::kCrash || attempt.verdict == Verdict::kTimeout);
}

void TryOnceMore(CaseRunner& runner, const Device& column, Attempt& attempt, bool timed) {
  column.session->Restart();
  Attempt second = runner.JudgeAgain(column, attempt.implementation);
  if (timed && second.verdict == Verdict::kPass) runner.Time(column, second);
  if (second.verdict == attempt.verdict) {
    attempt.record.reason += " [so once more, alone in a fresh worker]";
    return;
  }
  attempt.verdict = Verdict::kFlaky;
  SetVerdict(attempt.record, Verdict::kFlaky, ResultClass::kNone,
             fmt::format("it ends differently from try to try. First {}. Once more, alone in a fresh worker, {}",
                         EndOf(attempt), EndOf(second)));
}

}  // namespace assay
