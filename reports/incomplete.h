// SPDX-License-Identifier: Apache-2.0
// Reports on interrupted runs: records of verdict `missing` stand for planned ones that were never written.
#pragma once

#include <string>

#include "harness/core/model/record_list.h"
#include "reports/table.h"

namespace assay {

bool IsMissing(const Record& record);

// "incomplete: 37 of 120 planned cases have no record, 1 has a part of them"; "" when nothing is missing.
std::string IncompleteLine(const RecordView& records);

// How many results are missing of each implementation, or of a backend before its implementations are known; no rows
// when none is.
Table MissingTable(const RecordView& records);

}  // namespace assay
