// SPDX-License-Identifier: Apache-2.0
// The next step after a user's result that is no plain pass, chosen by what was found and by what the operator has.
#pragma once

#include <string>

#include "harness/tools/check/check_case.h"

namespace assay {

// "look at what is special about these places: ..."; "" of a plain pass. Reads the findings alone.
std::string AdviceFor(const UserTensors& user, const CheckResult& result);

}  // namespace assay
