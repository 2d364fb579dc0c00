// SPDX-License-Identifier: Apache-2.0
// Whether a smaller case fails as another one did, and whether another device has the same failure.
#pragma once

#include "harness/engine/device/device.h"
#include "harness/engine/run_loop.h"

namespace assay {

// Whether only many executions showed it, which may not show it the next time.
bool HasFailedAfterPassing(const Record& record);

// Runs the case, without a record, by the implementation that failed. False too where the case cannot be prepared,
// where an expectation explains it, and where the case passes at first.
bool FailsAlike(const PlannedCase& planned, const Device& device, const Record& failed, const RunPolicy& settings);

// Runs the case, without a record, by the implementation of that name, and it passes.
bool HasPassedOn(const PlannedCase& planned, const Device& device, const std::string& implementation,
                 const RunPolicy& settings);

}  // namespace assay
