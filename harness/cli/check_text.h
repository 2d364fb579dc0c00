// SPDX-License-Identifier: Apache-2.0
// The result of `assay check` for people.
#pragma once

#include <string>

#include "harness/cli/check_case.h"

namespace assay::cli {

std::string CheckText(const UserCase& user, const CheckResult& result);

}  // namespace assay::cli
