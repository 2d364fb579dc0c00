// SPDX-License-Identifier: Apache-2.0
#include "backends/common/host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "backends/common/status.h"

namespace plugin {
namespace {

// Page-aligned, so that the alignment of an operand is what the harness chose by its offset and nothing else.
constexpr std::align_val_t kAlignment{kHostAlignment};

// Large ones get pages of their own: in the heap, operands that come and go would leave holes that the next ones, of
// another size, do not fit into.
constexpr uint64_t kLeastMapped = uint64_t{1} << 20;

std::byte* TakeMemory(uint64_t bytes) {
  if (bytes < kLeastMapped) return static_cast<std::byte*>(::operator new(bytes, kAlignment));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

struct FreeMemory {
  uint64_t bytes = 0;
  void operator()(std::byte* memory) const {
    if (bytes < kLeastMapped) return ::operator delete(memory, kAlignment);
    ::munmap(memory, bytes);
  }
};

class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(uint64_t bytes) : owned_(TakeMemory(bytes), FreeMemory{bytes}), bytes_(bytes) {}
  std::byte* data() const { return owned_.get(); }
  std::span<const std::byte> bytes() const { return {data(), bytes_}; }

 private:
  std::unique_ptr<std::byte, FreeMemory> owned_;
  uint64_t bytes_;
};

std::byte* Data(const Buffer& buffer) {
  return static_cast<const HostBuffer&>(buffer).data();
}

}  // namespace

uint64_t HostMemoryBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

std::unique_ptr<Buffer> HostDevice::Alloc(uint64_t bytes) {
  // Asked for here, since a system that overcommits would grant it and end the process at the first touch.
  const uint64_t memory = HostMemoryBytes();
  if (memory > 0 && bytes > memory) {
    throw Error(ASSAY_OUT_OF_MEMORY,
                fmt::format("a buffer of {} bytes exceeds the host's {} bytes of memory", bytes, memory));
  }
  return std::make_unique<HostBuffer>(bytes);
}

void HostDevice::Upload(Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(Data(buffer) + offset, bytes.data(), bytes.size());
}

void HostDevice::Download(const Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(bytes.data(), Data(buffer) + offset, bytes.size());
}

void HostPlan::Execute(const Args& args) {
  pointers_.clear();
  for (const auto* operands : {&args.inputs, &args.outputs}) {
    for (const Arg& arg : *operands) pointers_.push_back(Data(*arg.buffer) + arg.byte_offset);
  }
  const Pointers all(pointers_);
  Run(all.first(args.inputs.size()), all.subspan(args.inputs.size()));
}

bool HostPlan::EvictOperands(const Args& args) {
  for (const auto* operands : {&args.inputs, &args.outputs}) {
    for (const Arg& arg : *operands) {
      if (EvictFromCaches(static_cast<const HostBuffer&>(*arg.buffer).bytes())) continue;
      flusher_.Flush();
      return true;
    }
  }
  return true;
}

}  // namespace plugin
