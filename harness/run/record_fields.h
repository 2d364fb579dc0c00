// SPDX-License-Identifier: Apache-2.0
// Fills the fields of a record from what the layers found.
#pragma once

#include <string>

#include "harness/judge/histogram.h"
#include "harness/model/record.h"
#include "harness/results/record_case.h"
#include "harness/run/case_runner.h"

namespace assay {

Record CaseRecord(const PlannedCase& planned, const CaseData& data, const Device& column);
void SetMetrics(Record& record, const Evidence& evidence, const Decision& decision);
void SetHistogram(Record& record, const MarginHistogram& histogram);

}  // namespace assay
