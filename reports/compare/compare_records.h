// SPDX-License-Identifier: Apache-2.0
// Compares two records of one case, backend, device and implementation.
#pragma once

#include <vector>

#include "harness/core/model/record.h"
#include "harness/core/model/run_comparison.h"
#include "reports/compare/compare_policy.h"

namespace assay {

// Below these a change is not reported at all: estimates scatter.
inline constexpr double kReportedMarginGrowth = 1.1;
inline constexpr double kReportedEffectiveBits = 0.25;

// Whether a result speaks of the implementation: it ran and was judged, or it failed. False for unsupported,
// unavailable and missing.
bool HasResult(const Record& record);

// Outcome, class, contract, margins, effective bits and output bits. Precondition: HasResult of both.
std::vector<Change> CompareRecords(const Record& base, const Record& now, const RegressionLimits& limits);

}  // namespace assay
