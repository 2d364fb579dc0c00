// SPDX-License-Identifier: Apache-2.0
// The check that decided a result, so that a table can show one margin for each: the check that failed, in the order in
// which the judge looks at them, or, for a result that passed, the one that came nearest to its limit.
#pragma once

#include <string_view>

#include "harness/core/model/record.h"

namespace assay {

struct DecidingCheck {
  std::string_view name;  // "bound", "exact"...; "memory", "contract", "later run"...; "": nothing was judged
  Number margin;          // above 1 it fails; null where the check is a plain yes or no
};

DecidingCheck DecidingCheckOf(const Record& record);

// "bound 1.99", "exact", "statistic 0.41", "memory"; "" where nothing was judged.
std::string DecidingText(const DecidingCheck& check);

}  // namespace assay
