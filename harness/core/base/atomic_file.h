// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: written under a temporary name beside the target, flushed to the disk,
// renamed. Safe with concurrent writers of the same path: the last one wins. A writer that is killed leaves its
// temporary file; it holds a lock on it while it lives, so that others can tell and remove what was left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/base/text_sink.h"

namespace assay {

struct FilePart {
  const void* data;
  size_t size;
};

enum class Durability : uint8_t {
  kOnDisk,
  kWhenever,  // as the system likes, which is quicker: after a power cut the file may be damaged, under its final name
};

// Creates missing folders. Errors name the path and the system's reason; `shown` is the name for them where users know
// the file by another one, as of a file that is renamed later.
Status WriteFileAtomically(const std::filesystem::path& path, const std::vector<FilePart>& parts,
                           Durability durability = Durability::kOnDisk, const std::filesystem::path& shown = {});

// Atomically writes a text that `write` passes to a sink part by part. If `write` throws, the exception is passed on
// and `path` stays unchanged.
Status StreamFileAtomically(const std::filesystem::path& path, const std::function<void(const TextSink&)>& write);

// Whether a file's name is that of a temporary file of WriteFileAtomically.
bool IsTemporaryName(const std::filesystem::path& path);

// Removes a temporary file whose writer is gone (only says so when `dry_run`). False, and nothing is touched, when it
// is being written, is no temporary file, cannot be removed, or lies where files cannot be locked.
bool RemoveIfAbandoned(const std::filesystem::path& path, bool dry_run = false);

}  // namespace assay
