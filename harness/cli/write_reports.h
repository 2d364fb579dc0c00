// SPDX-License-Identifier: Apache-2.0
// The report files of a run folder (DESIGN: files of a run), derived from its records and those that are missing.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"

namespace assay::cli {

// Writes report.html, summary.md, junit.xml and benchmark.json into `dir`, with the environment of its
// environment.json and the profile of its profile.json when there are such. Returns their paths; an error names the
// file that could not be written.
Result<std::vector<std::filesystem::path>> WriteReports(const std::filesystem::path& dir, const RecordView& records);

}  // namespace assay::cli
