// SPDX-License-Identifier: Apache-2.0
// What the options of a run come to: environment.json, the engine's settings, the words of a command that repeats it.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json.h"
#include "harness/plan/options.h"
#include "harness/run/prepared_run.h"
#include "harness/run/run_loop.h"

namespace assay::cli {

// "backends" of environment.json.
Json DescribeDevices(const std::vector<Device>& devices);

// environment.json, as it is before anything runs. Notes what the user should know of it.
Json RunEnvironment(const RunOptions& options, const std::vector<Device>& devices, const ExpectationSet& expectations,
                    const std::vector<std::string>& absent);

// What a command that repeats a result needs besides the case, its backend and implementation.
std::vector<std::string> CarriedOptions(const RunOptions& options);

LoopSettings LoopSettingsFor(const RunOptions& options, const Plan& plan, const ExpectationSet& expectations);

}  // namespace assay::cli
