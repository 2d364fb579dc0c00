// SPDX-License-Identifier: Apache-2.0
// The caches of the host: their size, and ways to begin without what is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace plugin {

// Bytes of the last-level caches that the processors below `cpus` reach, each cache once; 0 when they do not tell.
uint64_t LastLevelCacheBytesBelow(const std::filesystem::path& cpus);

// Bytes of this machine's last-level caches; a generous guess when the system does not tell.
uint64_t LastLevelCacheBytes();

// Streams through a buffer of twice the last-level cache.
class CacheFlusher {
 public:
  void Flush();

 private:
  std::vector<uint64_t> stream_;  // allocated at the first use
};

// Writes back and drops the lines of these bytes from every cache of the machine, those of other cores included. False
// where the processor has no instruction for that.
bool EvictFromCaches(std::span<const std::byte> bytes);

}  // namespace plugin
