// SPDX-License-Identifier: Apache-2.0
// Everything that the host prepares before it starts a worker, sandboxed or not.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/sandbox/sandbox.h"
#include "harness/exec/sandbox/worker_folder.h"

namespace assay {

struct WorkerSetup {
  WorkerFolder folder;                 // none without a sandbox
  std::vector<std::string> variables;  // its whole environment
  Sandbox sandbox;
  std::string hidden;  // see AllowList::HiddenText()
};

// `executable` is the worker's program.
Result<WorkerSetup> MakeWorkerSetup(const SandboxRequest& options, const std::string& plugin,
                                    const std::string& executable);

// From now on other processes of this user can neither trace this one nor read its memory, environment and open files.
void HideThisProcess();

}  // namespace assay
