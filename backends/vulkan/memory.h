// SPDX-License-Identifier: Apache-2.0
// Buffers on the device, and the way of bytes to and from them: mapped where the device's memory is the host's, else
// through a staging buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backends/common/backend.h"
#include "backends/vulkan/context.h"

namespace vulkan {

enum class Placement {
  kDevice,  // the device's own memory; mapped too where the host reads it at full speed
  kMapped,  // visible to the host
};

class DeviceBuffer : public plugin::Buffer {
 public:
  // Throws Error(ASSAY_OUT_OF_MEMORY) with the sizes when there is no room.
  DeviceBuffer(Context& context, uint64_t bytes, Placement placement);
  ~DeviceBuffer() override;
  DeviceBuffer(const DeviceBuffer&) = delete;  // owns an allocation
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }      // as allocated: a multiple of 16, at least what was asked for
  std::byte* mapped() const { return mapped_; }  // nullptr: not mapped

 private:
  void Allocate(Placement placement);
  void Destroy();

  Context& context_;
  uint64_t bytes_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte* mapped_ = nullptr;
};

class Transfer {
 public:
  explicit Transfer(Context& context) : context_(context) {}
  void Upload(DeviceBuffer& buffer, uint64_t offset, std::span<const std::byte> bytes);
  void Download(const DeviceBuffer& buffer, uint64_t offset, std::span<std::byte> bytes);

 private:
  DeviceBuffer& Staging();

  Context& context_;
  std::unique_ptr<DeviceBuffer> staging_;  // made at the first use
};

}  // namespace vulkan
