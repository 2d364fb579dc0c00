// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: written under a temporary name beside the target, flushed to the disk,
// renamed. Safe with concurrent writers of the same path: the last one wins.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "harness/base/result.h"

namespace assay {

struct FilePart {
  const void* data;
  size_t size;
};

// Creates missing folders. Errors name the path and the system's reason.
Status WriteFileAtomically(const std::filesystem::path& path, const std::vector<FilePart>& parts);

}  // namespace assay
