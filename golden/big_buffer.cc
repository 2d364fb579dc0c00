// SPDX-License-Identifier: Apache-2.0
#include "golden/big_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// AddressSanitizer finds uses of memory that was given back only where it is.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMostKept = 0;
#else
constexpr size_t kMostKept = size_t{64} << 20;
#endif

std::align_val_t AlignmentOf(size_t bytes) {
  return std::align_val_t{bytes >= 2 * kBigPage ? kBigPage : 64};
}

constexpr int64_t kSmallPage = 4096;

struct Block {
  void* memory;
  size_t bytes;
};

// Memory that was given back, oldest first.
class Kept {
 public:
  void* Take(size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    const auto found =
        std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& block) { return block.bytes == bytes; });
    if (found == blocks_.rend()) return nullptr;
    void* const memory = found->memory;
    total_ -= bytes;
    blocks_.erase(std::next(found).base());
    return memory;
  }

  // False where it is not kept.
  bool Give(Block block) noexcept {
    if (block.bytes > kMostKept) return false;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || blocks_.size() == blocks_.capacity()) return false;
    while (total_ + block.bytes > kMostKept) DropOldest();
    blocks_.push_back(block);
    total_ += block.bytes;
    return true;
  }

  void DropAll() {
    const std::scoped_lock lock(mutex_);
    while (!blocks_.empty()) DropOldest();
  }

 private:
  void DropOldest() {
    ::operator delete(blocks_.front().memory, AlignmentOf(blocks_.front().bytes));
    total_ -= blocks_.front().bytes;
    blocks_.erase(blocks_.begin());
  }

  // Only tried when memory is taken or given: a forked child may find it locked for good, and gets its memory from the
  // system then.
  std::mutex mutex_;
  std::vector<Block> blocks_ = [] {
    std::vector<Block> blocks;
    blocks.reserve(kMostKept / kLeastKept);  // push_back never throws
    return blocks;
  }();
  size_t total_ = 0;
};

Kept& KeptMemory() {
  static Kept* const kept = new Kept;  // never destroyed: static destructors may still give memory back
  return *kept;
}

}  // namespace

void PreferBigPages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  ::madvise(memory, bytes / kBigPage * kBigPage, MADV_HUGEPAGE);
#endif
}

void* TakeBigMemory(size_t bytes) {
  if (void* const kept = KeptMemory().Take(bytes)) return kept;
  void* const memory = ::operator new(bytes, AlignmentOf(bytes));
  if (bytes >= 2 * kBigPage) PreferBigPages(memory, bytes);
  return memory;
}

void GiveBigMemory(void* memory, size_t bytes) noexcept {
  if (!KeptMemory().Give({memory, bytes})) ::operator delete(memory, AlignmentOf(bytes));
}

void ResizeValues(int64_t size, std::vector<double>& values) {
  ASSAY_CHECK(values.empty());  // its pages are overwritten
  const size_t bytes = static_cast<size_t>(size) * sizeof(double);
  if (bytes >= 2 * kBigPage) {
    values.reserve(size);
    void* memory = values.data();
    size_t left = bytes;
    if (std::align(kBigPage, kBigPage, memory, left) != nullptr) {
      PreferBigPages(memory, left);
      ParallelFor(static_cast<int64_t>(left / kSmallPage), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) static_cast<volatile char*>(memory)[i * kSmallPage] = 0;
      });
    }
  }
  values.resize(size);
}

void ReturnKeptMemory() {
  KeptMemory().DropAll();
}

}  // namespace assay
