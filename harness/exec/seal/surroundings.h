// SPDX-License-Identifier: Apache-2.0
// Everything that the host prepares before it starts a worker, sandboxed or not.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/seal/lodging.h"
#include "harness/exec/seal/seal.h"

namespace assay {

struct Surroundings {
  WorkerFolder folder;                 // none where the worker is not sealed
  std::vector<std::string> variables;  // its whole environment
  Seal seal;
  std::string hidden;  // see FileGrants::HiddenText()
};

// `executable` is the worker's program.
Result<Surroundings> MakeSurroundings(const SealOptions& options, const std::string& plugin,
                                      const std::string& executable);

// From now on other processes of this user can neither trace this one nor read its memory, environment and open files.
void HideThisProcess();

}  // namespace assay
