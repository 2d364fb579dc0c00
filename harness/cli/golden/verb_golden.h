// SPDX-License-Identifier: Apache-2.0
// assay golden build|verify|list|gc|export: the store of golden values, filled ahead, checked and kept small. Manifests
// pin the inputs and golden values of cases by hash, in the reproducible tier: the same on every machine. JSON, a line
// per case, sorted by id, so that a changed value shows in review.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "golden/store/store.h"
#include "golden/store/store_files.h"
#include "harness/cli/option_table.h"
#include "harness/engine/cases/prepared_case.h"
#include "ops/bound_case.h"

namespace assay::cli {

struct GoldenOptions {
  RunOptions run;
  std::string store;  // folder; empty: GoldenStore::DefaultRoot()
  std::string manifest, out;
  std::optional<std::string> plane;  // without: the value
  std::string output;                // of the case; "": its first
  GcLimits limits;
  bool json = false, recompute = false;
};

// One each. They print and return the exit code.
int BuildGoldens(const GoldenOptions& options);
int VerifyGoldens(const GoldenOptions& options);
int ListGoldens(const GoldenOptions& options);
int CollectGoldens(const GoldenOptions& options);
int ExportGolden(const GoldenOptions& options);

// The store that the options name. Error: the environment names none either.
Result<GoldenStore> StoreOf(const GoldenOptions& options);

// Calls work(cases, store) with the selected cases, as they were bound when they were planned, and returns its exit
// code. Without a store, a plan or a case it complains and returns the code of that.
int WithCases(const GoldenOptions& options,
              const std::function<int(const std::vector<SharedCase>&, const GoldenStore&)>& work);

// The files of the store, golden ones only as far as --filter fits their id.
Result<std::vector<StoreFile>> FilesOf(const GoldenOptions& options);

// Calls work(i) for each case on all threads: small cases side by side, large ones one after another with the threads
// inside. What work throws becomes the argument of `failed`. A case that could not be bound is null, and small.
void ForEachCase(const std::vector<SharedCase>& cases, const std::function<void(size_t)>& work,
                 const std::function<void(size_t, const std::string&)>& failed);

std::string VersionText(const StoreFile&);  // "1.8": generator and golden version

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
