// SPDX-License-Identifier: Apache-2.0
// Memory that host and worker share: a sealed memfd. Its size can change on neither side, so that a worker cannot
// make the host fault; what carries inputs can be mapped only for reading in the worker, so that a plugin which
// writes to its source bytes crashes instead of changing what the host compares with.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "harness/core/base/result.h"
#include "harness/exec/unique_fd.h"

namespace assay {

enum class Access { kReadOnly, kReadWrite };

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  // Host: zeroed memory, mapped for writing here; `worker_access` is what fd() allows to whoever receives it.
  static Result<SharedMemory> Create(size_t bytes, Access worker_access);
  // Worker: maps what came with a message.
  static Result<SharedMemory> Map(UniqueFd fd, size_t bytes, Access access);

  // Gives the pages that lie wholly within these bytes back; they read as zero from then on, also in the worker.
  // Precondition: created with kReadWrite.
  void Discard(size_t at, size_t size);

  int fd() const { return fd_.get(); }
  // Precondition for writing through it: not mapped kReadOnly.
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  static Result<SharedMemory> MapPages(UniqueFd fd, size_t bytes, int protection, int flags);

  UniqueFd fd_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace assay
