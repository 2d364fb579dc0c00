// SPDX-License-Identifier: Apache-2.0
// Makes the sandbox of a run's workers (harness/exec/sandbox) from the user's options.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/exec/sandbox/sandbox.h"
#include "harness/plan/options.h"

namespace assay {

// Precondition: CheckSandbox(options).
SandboxRequest MakeSandboxRequest(const SandboxOptions& options);

// Errors: a limit that is none, a granted file that is not there or that no worker may see, what is no name of a
// variable.
Status CheckSandbox(const SandboxOptions& options);

// Says which variables of --pass-env are not set, "" when all are.
std::string FindUnset(const SandboxOptions& options);

// Says which granted folders hold something hidden, so that they are granted in part; "" for none.
std::string FindPartlyGranted(const SandboxOptions& options);

// Describes the sandbox, which is the same for all workers; "" if no worker runs.
std::string DescribeSandbox(const std::vector<Device>& devices);

// Says that this system lacks part of the sandbox, once for all devices; "" if it lacks nothing or no sandbox was
// wanted.
std::string DescribeSandboxGap(const std::vector<Device>& devices);

// Says for each plugin which folders near it stay hidden, see AllowList::HiddenText(); "" if none does.
std::string DescribeHiddenFolders(const std::vector<Device>& devices);

}  // namespace assay
