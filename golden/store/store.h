// SPDX-License-Identifier: Apache-2.0
// The store of golden values: one safetensors file per (case id, generator version, golden version, tier, output,
// formula), written under a temporary name and renamed, with a checksum over everything. A damaged, truncated or
// foreign file is reported, recomputed and replaced, never used. Any number of processes may share a store.
// store_files.h lists and collects.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "golden/golden.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/result.h"

namespace assay {

inline constexpr int kGeneratorVersion = 6;  // of inputs: rng.cc, fill.cc
inline constexpr int kGoldenVersion = 25;    // of golden values

struct GoldenKey {
  std::string case_id;
  std::string input_hash;
  Tier tier = Tier::kFast;
  std::string output = {};   // its name; "" of an operator's first
  std::string formula = {};  // digest of the formula that the value is of; "" of code, which has kGoldenVersion
};

class GoldenStore {
 public:
  // An empty path means no store: Load finds nothing, Save does nothing.
  explicit GoldenStore(std::filesystem::path root) : root_(std::move(root)) {}
  // $ASSAY_GOLDEN_STORE, else $XDG_CACHE_HOME/assay/golden, else ~/.cache/assay/golden.
  static std::filesystem::path DefaultRoot();

  // nullopt: not there. An error describes a damaged or foreign file; the caller recomputes.
  Result<std::optional<Golden>> Load(const GoldenKey& key) const;
  // Atomic; safe with concurrent writers of the same key. What a power cut damages is computed again.
  Status Save(const GoldenKey& key, const Golden& golden) const;
  std::filesystem::path PathOf(const GoldenKey& key) const;
  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

// One golden value as a file of the store, wherever it lies. Errors of reading: damaged, or not this key's.
Result<Golden> ReadGolden(const std::filesystem::path& path, const GoldenKey& key);
Status WriteGolden(const std::filesystem::path& path, const GoldenKey& key, const Golden& golden,
                   Durability durability = Durability::kOnDisk);
bool IsGoldenFile(const std::filesystem::path& path);  // of any case and version

std::string GoldenHash(const Golden& golden);  // xxh3-64 over value and value_lo, 16 hex digits

}  // namespace assay
