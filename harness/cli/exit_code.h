// SPDX-License-Identifier: Apache-2.0
// The exit code of a run (SPEC.md 5), from its records, whether it has just ended or is reported later.
#pragma once

#include <vector>

#include "harness/base/record.h"
#include "harness/compare/verdict.h"

namespace assay::cli {

// Whether an expectation covers the failure.
bool IsKnown(const Record& record);

// `flags` say what the records do not: interrupted, strict, required_backend_absent. An outcome that this version does
// not know is an error.
int ExitCodeOfRecords(const std::vector<Record>& records, ExitFlags flags);

}  // namespace assay::cli
