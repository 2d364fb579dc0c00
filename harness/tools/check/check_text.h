// SPDX-License-Identifier: Apache-2.0
// The result of `assay check` for people.
#pragma once

#include <string>

#include "harness/tools/check/check_case.h"
#include "harness/tools/explain/tolerance_text.h"

namespace assay {

// The tolerance of an element, by the contract that the verdict stands on. `element`: as ParseElementPlace takes it.
Result<DerivedTolerance> DeriveElement(const std::string& element, const UserTensors& user, const CheckResult& result);

std::string CheckText(const UserTensors& user, const CheckResult& result);

}  // namespace assay
