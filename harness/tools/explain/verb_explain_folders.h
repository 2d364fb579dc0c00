// SPDX-License-Identifier: Apache-2.0
// The folders that assay explain reads: of a failure, of a run that keeps outputs, and of cases that were computed
// elsewhere.
#pragma once

#include <filesystem>
#include <string>

#include "harness/tools/explain/verb_explain_sources.h"

namespace assay::cli {

// More cases than anybody reads at once, and than memory may hold.
inline constexpr size_t kMostCasesOfFolder = 20;

// Reads the cases of a folder whose ids match `filter`, as --filter has it. By default a run's are those that fail.
// Errors: the folder is none of these three, none of its cases match and have outputs, or too many do.
ReadCases ReadFolder(const std::filesystem::path& folder, const std::string& filter);

}  // namespace assay::cli
