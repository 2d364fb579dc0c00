// SPDX-License-Identifier: Apache-2.0
// Ready-made parts of a backend whose device is the host: buffers in memory, and plans that see plain pointers and can
// begin with cold caches.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/cache.h"

namespace plugin {

// Bytes of the host's memory; 0 when unknown.
uint64_t HostMemoryBytes();

// Alignment of the first byte of an allocation of a HostDevice.
inline constexpr uint64_t kHostAlignment = 4096;

class HostDevice : public Device {
 public:
  std::unique_ptr<Buffer> Alloc(uint64_t bytes) override;
  void Upload(Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) override;
  void Download(const Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) override;
};

// A plan that computes from pointers to each operand's element zero, in the order of the description.
class HostPlan : public Plan {
 public:
  void Execute(const Args& args) final;

 protected:
  using Pointers = std::span<std::byte* const>;
  virtual void Run(Pointers inputs, Pointers outputs) = 0;
  bool EvictOperands(const Args& args) override;

 private:
  std::vector<std::byte*> pointers_;  // inputs, then outputs
  CacheFlusher flusher_;              // where lines cannot be evicted
};

}  // namespace plugin
