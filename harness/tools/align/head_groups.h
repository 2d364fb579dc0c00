// SPDX-License-Identifier: Apache-2.0
// Configurations of attention with some of its key heads, each with the query heads that share it.
#pragma once

#include <vector>

#include "harness/tools/align/configurations.h"

namespace assay {

// Empty where the operator has no key heads, or a single one, or heads are sliced as an axis of their own.
std::vector<Configuration> ListHeadGroups(const Operator& op, const Problem& problem);

}  // namespace assay
