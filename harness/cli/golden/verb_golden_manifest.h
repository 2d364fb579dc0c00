// SPDX-License-Identifier: Apache-2.0
// Manifests pin the inputs and golden values of cases by hash, in the reproducible tier: the same on every machine.
// JSON, a line per case, sorted by id, so that a changed value shows in review.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "golden/store/store.h"
#include "harness/engine/cases/prepared_case.h"

namespace assay::cli {

struct ManifestEntry {
  std::string id;
  std::string inputs;  // PreparedCase::input_hash
  std::string golden;  // GoldenHash
};

// Errors: no manifest, or one of other versions of generator or golden values.
Result<std::vector<ManifestEntry>> ReadGoldenManifest(const std::filesystem::path& path);
Status WriteManifest(const std::filesystem::path& path, std::vector<ManifestEntry> entries);

bool IsManifestFile(const std::filesystem::path& path);  // of whatever version

// From the store where it has the value, else computed.
Result<ManifestEntry> EntryOf(const BoundCase& bound, const GoldenStore& store);

// A case by its canonical id. Errors: no id, or of an operator that this program does not have.
Result<CaseSpec> SpecOfId(const std::string& id);

}  // namespace assay::cli
