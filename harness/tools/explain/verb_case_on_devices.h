// SPDX-License-Identifier: Apache-2.0
// One case on the devices that the options of a run select, for verbs that execute it without the folder of a run.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/run_loop.h"

namespace assay::cli {

struct CaseOnDevices {
  PreparedRun prepared;
  RunPolicy policy;  // nothing is timed, explained or kept
  PreparedCase data;

  const PlannedCase& planned() const { return prepared.selection.cases.at(0); }
};

// `options`: of the verb, by which it loads backends. Says notes on standard error.
tl::expected<std::unique_ptr<CaseOnDevices>, Refusal> OpenCase(const std::string& id, RunOptions options);

// The inputs that these options of --input name (NAME=FILE) in place of the case's own, and golden values of them.
Status GiveInputs(const std::vector<std::string>& inputs, const std::string& tier, PreparedCase& data);

}  // namespace assay::cli
