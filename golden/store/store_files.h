// SPDX-License-Identifier: Apache-2.0
// Lists the files of a golden store and collects garbage. Only files with a name of the store's are ever touched;
// several processes may run, collect and list at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/store/store.h"
#include "harness/core/base/result.h"

namespace assay {

struct StoreFile {
  enum class Kind : uint8_t {
    kGolden,        // of this program's versions
    kOtherVersion,  // of another generator or golden version: never read
    kOtherFormula,  // of a formula that its operator no longer has: never read. Said by those who know operators
    kDamaged,       // has a golden file's name, but is none, or another case's
    kTemporary,     // half written; by a process that runs or by one that was killed
    kForeign,       // of nobody's that this store knows
  };
  std::filesystem::path path;
  Kind kind = Kind::kForeign;
  int64_t bytes = 0;
  double age_s = 0;  // since it was written or last read
  GoldenKey key;     // of the first three kinds
  int generator_version = 0, golden_version = 0;
  std::string problem;  // of the fourth
};

// Sorted by case id and tier; what has none comes last, by path. A folder that is not there holds nothing. Reads
// headers alone: whether the tensors are whole shows GoldenStore::Load.
Result<std::vector<StoreFile>> ListStore(const std::filesystem::path& root);

struct GcLimits {
  std::optional<int64_t> max_bytes;    // of golden files of this program's versions; the longest unused ones go first
  std::optional<double> older_than_s;  // unused for longer
  bool dry_run = false;
};

struct GcResult {
  std::vector<StoreFile> removed;
  int64_t kept_files = 0, kept_bytes = 0;  // golden files of this program's versions
  std::vector<StoreFile> failed;           // could not be removed: `problem` says why
};

// Removes files of other versions and formulas, damaged ones, what killed writers left, and golden files beyond the
// limits. Foreign files, and those that a running process writes, stay.
GcResult CollectGarbage(std::vector<StoreFile> files, const GcLimits& limits);

// Removes temporary files of writers that were killed.
void RemoveAbandonedWrites(const std::filesystem::path& root);

// File names and format version of the golden store, for its reader and its garbage collection.
inline constexpr std::string_view kStoreFormat = "assay-golden-1";
inline constexpr std::string_view kStoreExtension = ".safetensors";

// Relative to the store's folder.
std::filesystem::path StoreFileName(const GoldenKey& key, int generator_version, int golden_version);

}  // namespace assay
