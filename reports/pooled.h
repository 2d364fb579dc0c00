// SPDX-License-Identifier: Apache-2.0
// Text for pooled findings on all results of an implementation (harness/core/model/pooled_test.h).
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/pooled_test.h"
#include "harness/core/model/record_list.h"
#include "reports/environment.h"

namespace assay {

// "Pooled: cpu:blocked matmul f32: results are ...: fails the run"; one for each finding.
std::vector<std::string> PooledLines(const RecordView& records);

// "1 pooled finding fails the run, 2 with --strict"; "" without one.
std::string PooledCountText(const std::vector<PooledAnswer>& found);

// Whether some finding fails this run.
bool PooledFails(const std::vector<PooledAnswer>& found, bool strict);

// Results that fail a run only with --strict: inconclusive ones, suspect ones, and times that cannot be true.
//
// Reads from the environment whether the run was strict. Conformance runs always are.
bool IsStrict(const EnvironmentRows& environment);

// Whether it fails a strict run and no other one. A failing record does not.
bool FailsStrictly(const Record& record);

// "2 inconclusive results, 1 time that cannot be true"; "": none of the records fails strictly.
std::string StrictFailuresText(const RecordView& records);

}  // namespace assay
