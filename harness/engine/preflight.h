// SPDX-License-Identifier: Apache-2.0
// Checks before a run: cases named by id have to fit into memory, and some device has to offer what --impl names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/suite.h"

namespace assay {

// An oversized case of a suite is an error of that case alone, but one that --case asks for is a mistake.
Status CheckNamedCasesFit(const std::vector<PlannedCase>& cases, const std::string& tier, double available_bytes);

// Gives one problem after another; null: there are no more. Each is valid until the next.
using NextProblem = std::function<const Problem*()>;

// Asks about one problem after another until every wanted name was offered. A name that nobody offers is refused,
// unless a backend that cannot be asked now may know it: then `notes` get what is missing.
Status CheckImplementations(const std::vector<std::string>& wanted, const std::vector<Device>& devices,
                            const NextProblem& next, std::vector<std::string>& notes);

}  // namespace assay
