// SPDX-License-Identifier: Apache-2.0
// What the verbs that run cases share: the files of the run folder, the settings of the engine, the end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/profile_output.h"
#include "harness/plan/options.h"
#include "harness/run/prepared_run.h"
#include "harness/run/run_loop.h"

namespace assay::cli {

// Tensors come and go by the thousand in a run. Returned to the kernel each time, their pages would be faulted in and
// cleared again for every execution.
void KeepFreedMemory();

// environment.json, as it is before anything runs. Notes what the user should know of it.
nlohmann::ordered_json RunEnvironment(const RunOptions& options, const std::vector<Device>& devices,
                                      const ExpectationSet& expectations, const std::vector<std::string>& absent);

Status WritePlan(const RunFolder& folder, const Plan& plan, const nlohmann::ordered_json& environment);

// What a command that repeats a result needs besides the case, its backend and implementation.
std::vector<std::string> CarriedOptions(const RunOptions& options);

LoopSettings LoopSettingsFor(const RunOptions& options, const Plan& plan, const ExpectationSet& expectations);

// What only the whole run tells: environment.json once more, and ceilings.json.
Status WriteMeasured(const LoopSettings& settings, const std::vector<Device>& devices, const RunFolder& folder,
                     nlohmann::ordered_json environment, bool interrupted);

// Writes the reports, prints the tables and returns the exit code. The files come first: whatever becomes of standard
// output, they are complete. `profile`: null where nothing is measured. `no_case`: a shard without any, which is no
// failure.
int FinishRun(const RunOptions& options, const Plan& plan, const LoopResult& result, const RunFolder& folder,
              ProfileOutput* profile, bool no_case);

// What a run needs is asked for before it begins: nothing ran, and every report of the folder says why.
int EndWithoutRequired(const RunFolder& folder);

}  // namespace assay::cli
