// SPDX-License-Identifier: Apache-2.0
// Parts of an operator that the tree of sources lacks, by the checklist of ops/ADDING.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay::cli {

struct MissingPart {
  std::string file, what;  // the file relative to the root, and the part that it should hold
};

// Errors: `root` is not the root of assay's sources.
Result<std::vector<MissingPart>> FindMissingParts(const std::filesystem::path& root, const std::string& op);

}  // namespace assay::cli
