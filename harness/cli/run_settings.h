// SPDX-License-Identifier: Apache-2.0
// Turns the options of a run into environment.json, the engine's settings, and a command that repeats the run.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/run_loop.h"
#include "harness/plan/options.h"

namespace assay::cli {

// "backends" of environment.json.
Json DescribeDevices(const std::vector<Device>& devices);

// Makes environment.json as it is before anything runs, and prints notes for the user.
Json RunEnvironment(const RunOptions& options, const std::vector<Device>& devices, const ExpectationSet& expectations,
                    const std::vector<std::string>& absent);

// Options that a command needs to repeat a result, besides the case, its backend and implementation.
std::vector<std::string> WriteCarriedOptions(const RunOptions& options);

LoopSettings LoopSettingsFor(const RunOptions& options, const Plan& plan, const ExpectationSet& expectations);

}  // namespace assay::cli
