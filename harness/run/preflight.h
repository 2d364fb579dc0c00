// SPDX-License-Identifier: Apache-2.0
// What can be said before a run starts: that a case named by its id does not fit into memory, that --impl names what
// nobody offers.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/suite.h"
#include "harness/run/device/device.h"

namespace assay {

// An oversized case of a suite is an error of that case alone, but one that --case asks for is a mistake.
Status CheckNamedCasesFit(const std::vector<PlannedCase>& cases, double available_bytes);

struct UnknownImplementations {
  std::string message;  // which of `wanted` no backend offers for these cases, and what there is; "" when all are known
  bool certain = false;  // every backend answered; one that could not may offer them after all
};

// Asks about one case after another until every wanted name was offered.
UnknownImplementations FindUnknownImplementations(const std::vector<std::string>& wanted,
                                                  const std::vector<Device>& devices,
                                                  const std::vector<PlannedCase>& cases);

// An unknown name is refused, unless a backend that cannot be asked now may know it: then `notes` get what is missing.
Status CheckImplementations(const std::vector<std::string>& wanted, const std::vector<Device>& devices,
                            const std::vector<PlannedCase>& cases, std::vector<std::string>& notes);

}  // namespace assay
