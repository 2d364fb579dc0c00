// SPDX-License-Identifier: Apache-2.0
// Turns the options of a run into environment.json and the policy of the engine.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/core/base/json.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/run_loop.h"

namespace assay::cli {

std::set<std::string> BackendsOf(const std::vector<Device>& devices);

// "backends" of environment.json.
Json DescribeDevices(const std::vector<Device>& devices);

// Makes environment.json as it is before anything runs, and prints notes for the user.
Json RunEnvironment(const RunOptions& options, const PreparedRun& prepared);

RunPolicy MakePolicy(const RunOptions& options, const PreparedRun& prepared);

}  // namespace assay::cli
