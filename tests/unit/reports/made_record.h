// SPDX-License-Identifier: Apache-2.0
// Records of results that no device gave, for tests of the reports.
#pragma once

#include <string>

#include "harness/core/model/record.h"

namespace assay::test {

// Makes a record of a matmul with this outcome as its verdict; without a time_s it was not timed.
Record MakeRecord(const std::string& backend, const std::string& implementation, const std::string& outcome,
                  double time_s = 0);

// A mismatch of oneDNN that an expectation covers: "reason, file:line".
Record MakeKnown(const std::string& implementation, const std::string& why);

}  // namespace assay::test
