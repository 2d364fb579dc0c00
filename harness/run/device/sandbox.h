// SPDX-License-Identifier: Apache-2.0
// How the workers of a run are sealed (harness/exec/seal), from what the user said.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/seal/seal.h"
#include "harness/plan/options.h"
#include "harness/run/device/device.h"

namespace assay {

// Precondition: CheckSandbox(options).
SealOptions SealFor(const SandboxOptions& options);

// Errors: a limit that is none, a granted file that is not there or that no worker may see, what is no name of a
// variable.
Status CheckSandbox(const SandboxOptions& options);

// Says which variables of --pass-env are not set, "" when all are.
std::string FindUnset(const SandboxOptions& options);

// Says which granted folders hold something hidden, so that they are granted in part; "" for none.
std::string FindPartlyGranted(const SandboxOptions& options);

// How they are sealed, the same for all of them; "" where none runs.
std::string SandboxOf(const std::vector<Device>& devices);

// What of the seal this system lacks, once for all devices; "" where nothing is, or none was wanted.
std::string SandboxGap(const std::vector<Device>& devices);

// What beside its plugin is hidden from each of them, "" where nothing is.
std::string HiddenFrom(const std::vector<Device>& devices);

// The words of a command line that asks for the same.
std::vector<std::string> SandboxWords(const SandboxOptions& options);

}  // namespace assay
