// SPDX-License-Identifier: Apache-2.0
// How often the first cause that is named for a caught fault is its true one: `assay power --explain`.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/engine/trial/attempt.h"
#include "harness/tools/explain/cause.h"
#include "harness/tools/power/power_tally.h"
#include "harness/tools/power/true_causes.h"

namespace assay {

// Everything that the explanation of a rejected result names, the first cause first; none: it is unexplained.
std::vector<std::string> ListNames(const Problem& problem, const Attempt& attempt, const std::vector<Cause>& causes);

// Shares with their intervals by operator and kind of cause, then of the faults that nothing may be tuned on and of the
// others; below, each fault that is not always named right.
std::string NamingText(const PowerTally& tally, const TrueCauses& truths);
Json NamingJson(const PowerTally& tally, const TrueCauses& truths);

}  // namespace assay
