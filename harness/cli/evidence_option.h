// SPDX-License-Identifier: Apache-2.0
// --evidence: a run keeps the outputs of its results, of which assay bundle draws some by the run's secret.
#pragma once

#include <memory>

#include "harness/cli/run_flow.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/stored_outputs.h"

namespace assay::cli {

struct BegunEvidence {
  EvidenceDraw draw;
  std::shared_ptr<StoredOutputs> stored;  // null where no evidence is asked for
};

// Writes evidence.json without the secret, adds the hashes of program, plugins and lists of known failures to
// environment.json, and has outputs kept. Says the commitment on standard error. Errors: the file of --evidence-seed
// cannot be read, a file cannot be written.
Result<BegunEvidence> BeginEvidence(const EvidenceOptions& options, BegunRun& run);

// The text of --evidence-seed, or one that is drawn now.
Result<std::string> FindSecret(const EvidenceOptions& options);
// Overload for a secret that is known already.
Result<BegunEvidence> BeginEvidence(const EvidenceOptions& options, std::string secret, BegunRun& run);

// Once nothing of the run's files changes any more: writes the secret, and says the hash of the files.
void EndEvidence(BegunEvidence evidence, const BegunRun& run);

}  // namespace assay::cli
