// SPDX-License-Identifier: Apache-2.0
// The fields of a record that say how fast. What shows that a time cannot be true goes to AddContradiction().
#pragma once

#include <span>

#include "harness/core/base/statistics.h"
#include "harness/core/model/record.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/perf/roofline.h"
#include "harness/engine/timing/timing.h"

namespace assay {

// Contradictions of earlier rounds stay.
void SetTiming(Record& record, std::span<const TimingSummary> rounds, bool clock_is_device);

// The slices of one more round.
void AddSlices(Record& record, std::span<const double> medians_s);

// The wall clock's mean of one more round.
void AddWall(Record& record, double wall_s);

// Stores the wall clock, the transfers and the stop reason of the first round.
void SetFirstRound(Record& record, const Timing& timing);

// Raises the upper limit of the time where the host's clock does not confirm the durations of one more round.
void AddLimit(Record& record, const Timing& timing);

// A plugin that did not flush leaves no time, but the reason.
void SetCold(Record& record, const Timing& timing);

// Stores how often the host's processors throttled between both states, and their package power if the backend computes
// on them.
void SetPackagePower(Record& record, const PackageState& before, const PackageState& after, bool computes_on_host);

void ClearTiming(Record& record);  // of a result that turned out wrong

}  // namespace assay
