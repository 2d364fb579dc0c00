// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/exit_code.h"

#include <span>

#include "harness/core/model/pooled_test.h"

namespace assay {

bool IsKnown(const Record& record) {
  return record.outcome == "known_failure" || record.outcome == "known_flake";
}

namespace {

// Returns the verdict of each record after waivers, and adds its flags to `flags`.
std::vector<Verdict> VerdictsOf(const RecordView& records, ExitFlags& flags) {
  std::vector<Verdict> verdicts;
  for (const Record& r : records) {
    const bool unexpected = r.outcome == "unexpected_pass";
    flags.unexpected_pass = flags.unexpected_pass || unexpected;
    flags.suspects = flags.suspects || r.result_class == Name(ResultClass::kSuspect) || r.weak_pass.value_or(false);
    flags.invalid_times = flags.invalid_times || !r.timing_invalid.empty();
    verdicts.push_back(IsKnown(r) || unexpected ? Verdict::kPass : ParseVerdict(r.outcome).value_or(Verdict::kError));
  }
  return verdicts;
}

}  // namespace

int ExitCodeOfRecords(const RecordView& records, ExitFlags flags) {
  std::vector<Verdict> verdicts = VerdictsOf(records, flags);
  for (const PooledAnswer& found : FindPooled(records)) {
    if (found.proves) verdicts.push_back(Verdict::kMismatch);
    flags.suspects = true;
  }
  return ExitCode(verdicts, flags);
}

bool FailsRun(const Record& record, bool strict) {
  ExitFlags flags;
  flags.strict = strict;
  const std::vector<Verdict> verdicts = VerdictsOf(std::span(&record, 1), flags);
  const int code = ExitCode(verdicts, flags);
  return code != kExitOk && code != kExitNothing;
}

}  // namespace assay
