// SPDX-License-Identifier: Apache-2.0
// The result of `assay check` for people.
#pragma once

#include <string>

#include "harness/tools/check/check_case.h"

namespace assay {

std::string CheckText(const UserTensors& user, const CheckResult& result);

}  // namespace assay
