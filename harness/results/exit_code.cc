// SPDX-License-Identifier: Apache-2.0
#include "harness/results/exit_code.h"

namespace assay {

bool IsKnown(const Record& record) {
  return record.outcome == "known_failure" || record.outcome == "known_flake";
}

int ExitCodeOfRecords(const std::vector<Record>& records, ExitFlags flags) {
  std::vector<Verdict> verdicts;
  for (const Record& r : records) {
    const bool unexpected = r.outcome == "unexpected_pass";
    flags.unexpected_pass = flags.unexpected_pass || unexpected;
    flags.suspects = flags.suspects || r.result_class == Name(ResultClass::kSuspect);
    flags.invalid_times = flags.invalid_times || !r.timing_invalid.empty();
    verdicts.push_back(IsKnown(r) || unexpected ? Verdict::kPass : ParseVerdict(r.outcome).value_or(Verdict::kError));
  }
  return ExitCode(verdicts, flags);
}

bool FailsRun(const Record& record) {
  const int code = ExitCodeOfRecords({record}, {});
  return code != kExitOk && code != kExitNothing;
}

}  // namespace assay
