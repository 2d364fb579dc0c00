// SPDX-License-Identifier: Apache-2.0
// Fills the fields of a record from what the layers found.
#pragma once

#include <string>

#include "harness/core/model/record.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/device.h"
#include "harness/engine/results/record_case.h"
#include "harness/engine/trial/attempt.h"
#include "harness/plan/suite.h"

namespace assay {

Record MakeCaseRecord(const PlannedCase& planned, const PreparedCase& data, const Device& device);
// The elements as Record::worst_elements has them.
std::string WorstText(const std::vector<WorstElement>& worst);
// Sets the metrics of one output.
void SetMetrics(Record& record, const OutputFindings& found);
// Sets the metrics of the worst output and, if there are several, adds an entry for each.
void SetOutputs(Record& record, const Problem& problem, const Findings& findings);
void SetAttempt(Record& record, const Problem& problem,
                const Attempt& attempt);  // all that the correctness phase found
// Says what share was judged. Places of the sample become those of the whole case. Precondition: the rest is set.
void SetSample(const OutputSample& sample, const Findings& findings, Record& record);

}  // namespace assay
