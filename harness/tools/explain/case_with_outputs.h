// SPDX-License-Identifier: Apache-2.0
// A case with its outputs, wherever they come from: files of a user, the failure folder of a run, a device that has
// just computed them. What explains a result reads this alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/suite.h"

namespace assay {

struct NamedResult {
  std::string name;             // "cpu naive", "a", "y.npy"
  std::vector<Tensor> outputs;  // all of the case
  CheckRequest judged_by;       // contract, requirement, tier and ulp of exact data
  std::string said;             // by the run that it comes from: "mismatch: 3 elements ..."; "": nobody has judged it
  bool has_failed = false;      // it ended in a crash, an error or a timeout, and has no outputs
};

struct CaseWithOutputs {
  PreparedCase data;                   // golden values are there as soon as somebody has needed them
  std::optional<PlannedCase> planned;  // where a suite has made the inputs
  std::vector<std::string> defaults;   // "eps=1e-05", of attributes that nobody stated
  std::vector<NamedResult> results;
};

// The case of a failure folder (harness/engine/trial/failure_folder.h), and behind it those of its twins, whose inputs
// are others. Errors: it is no such folder, has no tensors, or is of an operator that is not known.
Result<std::vector<CaseWithOutputs>> ReadFailureFolder(const std::filesystem::path& folder);

}  // namespace assay
