// SPDX-License-Identifier: Apache-2.0
// The exit code of a run (README.md#verdicts-and-exit-codes), from its records, whether it has just ended or is
// reported later.
#pragma once

#include <vector>

#include "harness/core/model/record_list.h"
#include "harness/judge/verdict.h"

namespace assay {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitHarness = 3;
inline constexpr int kExitNothing = 4;
inline constexpr int kExitRequiredAbsent = 5;
inline constexpr int kExitInterrupted = 130;

// Whether an expectation covers the failure.
bool IsKnown(const Record& record);

// `flags` say what the records do not: interrupted, strict, required_backend_absent. An outcome that this version does
// not know is an error. What all of them show together counts too (harness/core/model/pooled_test.h).
int ExitCodeOfRecords(const RecordView& records, ExitFlags flags);

// Whether this record alone makes the exit code say that something failed; `strict`: as with --strict.
bool FailsRun(const Record& record, bool strict = false);

}  // namespace assay
