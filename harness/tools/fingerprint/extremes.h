// SPDX-License-Identifier: Apache-2.0
// How a maximum or minimum takes NaN and zeros of both signs, of which IEEE 754 knows several ways (maximum,
// maximumNumber).
#pragma once

#include <string>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/engine/device/prepared_plan.h"

namespace assay {

inline constexpr const char *kNanWins = "the result is NaN", *kNanLoses = "it is left out";

struct Extremes {
  std::string nan, zeros, only_nan;  // of a row with a NaN; of -0 and +0; of a row of NaN alone
};

// reduce over the second of two axes with kind=max or min, of floats, with two columns at least.
bool TakesExtremes(const Problem& problem);

// Precondition: TakesExtremes. Errors: the backend's.
Result<Extremes> FindExtremes(const Problem& problem, const PreparedPlan& plan);

Json ToJson(const Extremes& extremes);
std::string TextOf(const Extremes& extremes);

}  // namespace assay
