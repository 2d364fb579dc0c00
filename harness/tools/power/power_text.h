// SPDX-License-Identifier: Apache-2.0
// The result of `assay power` as a table for people and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/base/json.h"
#include "harness/tools/power/power_case.h"
#include "harness/tools/power/power_tally.h"

namespace assay {

// Settings and extent of the measurement, shown with the figures.
struct PowerRun {
  std::string suite, corpus;
  size_t cases = 0, complete = 0;  // selected, and measured to the end
  size_t sampled_from = 0;         // so many, of which `cases` are a random sample; 0: it is all of them
  uint64_t sample_seed = 0;
  size_t too_large = 0;  // so many more were selected
  PowerSettings settings;
  double seconds = 0;
};

// One object per rule with caught_fraction, effective_pairs, caught_all_fraction, false_alarms, legal_tensors and more;
// "missed": the effective pairs that assay passed.
Json PowerJson(const PowerTally& tally, const PowerRun& run);

// rule x caught shares and false alarms, then every missed effective pair and every false alarm with its reason.
std::string PowerText(const PowerTally& tally, const PowerRun& run);

}  // namespace assay
