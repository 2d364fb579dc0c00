// SPDX-License-Identifier: Apache-2.0
// From where assay explain has its cases: files of tensors, or devices that compute them now. Folders are read by
// ReadFolder.
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/engine/prepared_run.h"
#include "harness/tools/explain/case_with_outputs.h"

namespace assay::cli {

// A declared contract as --contract takes it: a declaration that says nothing of functions means that they are exact.
std::string ContractToJudgeBy(const std::string& declared);

using ReadCases = tl::expected<std::vector<CaseWithOutputs>, Refusal>;

// The outputs of `request` are those of one result, as assay check takes them; or, where one of them has another name
// than an output of the operator, each of a result of that name: "a=FILE", or "a.mean=FILE" of one with several
// outputs.
ReadCases ReadTensors(const CheckRequest& request);

// Executes the case by each implementation on each device that the options select, with the inputs that `request` names
// in place of the case's own.
ReadCases ExecuteCase(const std::string& id, const RunOptions& options, const CheckRequest& request);

// The folders that assay explain reads: of a failure, of a run that keeps outputs, and of cases that were computed
// elsewhere.
//
// More cases than anybody reads at once, and than memory may hold.
inline constexpr size_t kMostCasesOfFolder = 20;

// Reads the cases of a folder whose ids match `filter`, as --filter has it. By default a run's are those that fail.
// Errors: the folder is none of these three, none of its cases match and have outputs, or too many do.
ReadCases ReadFolder(const std::filesystem::path& folder, const std::string& filter);

}  // namespace assay::cli
