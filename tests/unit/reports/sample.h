// SPDX-License-Identifier: Apache-2.0
// Synthetic but realistic records that cover every verdict, for tests of the reports and for looking at them.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record.h"

namespace assay::sample {

std::vector<Record> SampleRecords(size_t about);
std::string SampleEnvironment();  // the text of an environment.json

}  // namespace assay::sample
