// SPDX-License-Identifier: Apache-2.0
#include "backends/common/cache.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plugin {
namespace {

namespace fs = std::filesystem;
constexpr size_t kLineBytes = 64;

std::string FirstWord(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "32768K"; 0 when it is none.
uint64_t SizeOf(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : number;
}

}  // namespace

uint64_t LastLevelCacheBytesBelow(const fs::path& cpus) {
  int last = 0;
  uint64_t bytes = 0;
  std::set<std::string> counted;  // by the processors that share it
  std::error_code error;
  for (const auto& cpu : fs::directory_iterator(cpus, error)) {
    for (const auto& index : fs::directory_iterator(cpu.path() / "cache", error)) {
      const int level = std::atoi(FirstWord(index.path() / "level").c_str());
      const std::string shared = FirstWord(index.path() / "shared_cpu_list");
      if (level < last || FirstWord(index.path() / "type") == "Instruction") continue;
      if (level > last) {
        last = level, bytes = 0;
        counted.clear();
      }
      if (counted.insert(shared).second) bytes += SizeOf(FirstWord(index.path() / "size"));
    }
  }
  return bytes;
}

uint64_t LastLevelCacheBytes() {
  // Not sysconf(): inside a virtual machine glibc answers with what the processor says of the whole package.
  constexpr uint64_t kGuess = uint64_t{64} << 20;
  static const uint64_t known = LastLevelCacheBytesBelow("/sys/devices/system/cpu");
  return known > 0 ? known : kGuess;
}

void CacheFlusher::Flush() {
  if (stream_.empty()) stream_.resize(2 * LastLevelCacheBytes() / sizeof(uint64_t) + 1);
  // Read and write: written lines must be evicted too. One word per cache line is enough.
  constexpr size_t kLine = kLineBytes / sizeof(uint64_t);
  volatile uint64_t* words = stream_.data();
  for (size_t i = 0; i < stream_.size(); i += kLine) words[i] = words[i] + 1;
}

bool EvictFromCaches([[maybe_unused]] std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (bytes.empty()) return true;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size());
  for (auto at = reinterpret_cast<uintptr_t>(bytes.data()) & ~(kLineBytes - 1); at < end; at += kLineBytes) {
    _mm_clflush(reinterpret_cast<const void*>(at));
  }
  _mm_mfence();
  return true;
#else
  return false;
#endif
}

}  // namespace plugin
