// SPDX-License-Identifier: Apache-2.0
// Ways in which a wrong output may have been stored.
#pragma once

#include <vector>

#include "harness/tools/explain/cause.h"

namespace assay {

// Changes of the wrong output, those last by which it is an operand.
std::vector<OutputChange> ListStored(const WrongResult& result);

}  // namespace assay
