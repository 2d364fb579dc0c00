// SPDX-License-Identifier: Apache-2.0
// --evidence: which outputs a run keeps, drawn and written down before its first case.
#pragma once

#include <memory>

#include "harness/cli/run_flow.h"
#include "harness/evidence/stored_outputs.h"

namespace assay::cli {

// Null where none is asked for. Writes evidence.json, adds the hashes of program and plugins to environment.json, and
// has the outputs of what is drawn or fails kept. Says the commitment on standard error. Errors: the file of
// --evidence-seed cannot be read, a file cannot be written.
Result<std::shared_ptr<StoredOutputs>> BeginEvidence(const RunOptions& options, BegunRun& run);

// The text of --evidence-seed, or one that is drawn now.
Result<std::string> FindSecret(const RunOptions& options);
// The same with this secret.
Result<std::shared_ptr<StoredOutputs>> BeginEvidence(const RunOptions& options, BegunRun& run, std::string secret);

}  // namespace assay::cli
