// SPDX-License-Identifier: Apache-2.0
// Fills the fields of a record from what the layers found.
#pragma once

#include <string>

#include "harness/base/record.h"
#include "harness/cli/case_runner.h"
#include "harness/compare/histogram.h"

namespace assay::cli {

void SetCase(Record& record, const CaseSpec& spec);  // what its id says
Record CaseRecord(const PlannedCase& planned, const CaseData& data, const Column& column);
void SetVerdict(Record& record, Verdict verdict, ResultClass result_class, const std::string& reason);
void SetMetrics(Record& record, const Evidence& evidence, const Decision& decision);
void SetHistogram(Record& record, const MarginHistogram& histogram);

// A word of a shell command line.
std::string Quoted(const std::string& text);

// This program as the first word of a command line that can be pasted anywhere.
std::string ProgramWord();

// One line that runs exactly this again; `implementation` may be empty.
std::string ReproductionLine(const RunnerSettings& settings, const PlannedCase& planned, const Column& column,
                             const std::string& implementation);

}  // namespace assay::cli
