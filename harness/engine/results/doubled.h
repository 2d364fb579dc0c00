// SPDX-License-Identifier: Apache-2.0
// Results that have more than one record, as no run writes them: somebody joined files, or changed one.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// "CASE of BACKEND IMPLEMENTATION" of each record that is not the first of its result. The devices of a pool are one.
std::vector<std::string> FindDoubled(const RecordView& records);

// One line about them. Precondition: there are some.
std::string DoubledText(const std::vector<std::string>& doubled);

}  // namespace assay
