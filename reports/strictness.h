// SPDX-License-Identifier: Apache-2.0
// Results that fail a run only with --strict: inconclusive ones, suspect ones, and times that cannot be true.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"
#include "reports/environment.h"

namespace assay {

// Reads from the environment whether the run was strict. Conformance runs always are.
bool IsStrict(const EnvironmentRows& environment);

// Whether it fails a strict run and no other one. A failing record does not.
bool FailsStrictly(const Record& record);

// "2 inconclusive results, 1 time that cannot be true"; "": none of the records fails strictly.
std::string StrictFailuresText(const RecordView& records);

}  // namespace assay
