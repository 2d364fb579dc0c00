// SPDX-License-Identifier: Apache-2.0
// Statements in a bundle about itself, and about the program and libraries that made its results.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/record_list.h"
#include "harness/plan/plan.h"

namespace assay {

inline constexpr const char* kHashesKey = "sha256";  // of environment.json: files by path, as they were before the run

// This program (SHA-256, build id, revision of its source) and these files, as they are now. One that cannot be read
// says why.
Json DescribeFiles(const std::vector<std::string>& paths);

// SHA-256 over "id<TAB>golden_hash" of every case that has one, sorted.
std::string HashOfGoldens(const RecordView& records);

// Counts of outcomes of all records, those that are missing included, and the exit code that follows from them.
Json Claims(const Plan& plan, const RecordView& records, bool strict, bool interrupted);

}  // namespace assay
