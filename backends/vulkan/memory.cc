// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace vulkan {
namespace {

constexpr uint64_t kUnit = 16;  // kernels read whole words, up to three bytes beyond the last element
constexpr uint64_t kStagingBytes = uint64_t{16} << 20;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// ASSAY_VULKAN_STAGING=1 takes the way of a discrete GPU also where memory is shared.
bool StagingIsForced() {
  const char* value = std::getenv("ASSAY_VULKAN_STAGING");
  return value != nullptr && std::string_view(value) == "1";
}

// The first allowed type with all of `wanted`; -1 when there is none.
int FindType(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, VkMemoryPropertyFlags wanted) {
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return static_cast<int>(i);
  }
  return -1;
}

int ChooseType(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, Placement placement) {
  constexpr VkMemoryPropertyFlags kCached = kVisible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const auto first = [&](std::initializer_list<VkMemoryPropertyFlags> choices) {
    for (VkMemoryPropertyFlags wanted : choices) {
      if (const int type = FindType(memory, allowed, wanted); type >= 0) return type;
    }
    return -1;
  };
  if (placement == Placement::kMapped) return first({kCached, kVisible});
  return first({kLocal | kCached, kLocal, 0});
}

}  // namespace

DeviceBuffer::DeviceBuffer(Context& context, uint64_t bytes, Placement placement)
    : context_(context), bytes_((std::max<uint64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit) {
  const Facts& facts = context.facts();
  const uint64_t most = std::min(facts.memory_bytes, facts.max_allocation);
  if (bytes > most) {
    throw plugin::Error(ASSAY_OUT_OF_MEMORY, fmt::format("a buffer of {} bytes exceeds the {} bytes that {} allocates",
                                                         bytes, most, facts.name));
  }
  try {
    Allocate(placement);
  } catch (...) {
    Destroy();
    throw;
  }
}

DeviceBuffer::~DeviceBuffer() {
  Destroy();
}

void DeviceBuffer::Allocate(Placement placement) {
  const DeviceFunctions& vk = context_.vk();
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes_;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  const std::string what = fmt::format("allocating {} bytes on {}", bytes_, context_.facts().name);
  VkResult result = vk.vkCreateBuffer(context_.device(), &info, nullptr, &buffer_);
  if (result != VK_SUCCESS) throw ErrorOf(result, what);
  VkMemoryRequirements needs{};
  vk.vkGetBufferMemoryRequirements(context_.device(), buffer_, &needs);
  const int type = ChooseType(context_.memory(), needs.memoryTypeBits, placement);
  if (type < 0) throw plugin::Failure("{}: the device has no memory of that kind", what);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = static_cast<uint32_t>(type);
  result = vk.vkAllocateMemory(context_.device(), &allocate, nullptr, &memory_);
  if (result != VK_SUCCESS) throw ErrorOf(result, what);
  Check(vk.vkBindBufferMemory(context_.device(), buffer_, memory_, 0), "binding memory");

  const VkMemoryPropertyFlags flags = context_.memory().memoryTypes[type].propertyFlags;
  // Visible but uncached memory of a discrete GPU is read back at a crawl: through staging instead.
  const bool fast = (flags & kVisible) == kVisible && (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  if (placement == Placement::kDevice && (!fast || StagingIsForced())) return;
  void* mapped = nullptr;
  Check(vk.vkMapMemory(context_.device(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "mapping memory");
  mapped_ = static_cast<std::byte*>(mapped);
}

void DeviceBuffer::Destroy() {
  context_.vk().vkDestroyBuffer(context_.device(), buffer_, nullptr);
  context_.vk().vkFreeMemory(context_.device(), memory_, nullptr);
}

DeviceBuffer& Transfer::Staging() {
  if (staging_ == nullptr) staging_ = std::make_unique<DeviceBuffer>(context_, kStagingBytes, Placement::kMapped);
  return *staging_;
}

void Transfer::Upload(DeviceBuffer& buffer, uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (buffer.mapped() != nullptr) {
    std::memcpy(buffer.mapped() + offset, bytes.data(), bytes.size());
    return;
  }
  for (uint64_t done = 0; done < bytes.size(); done += kStagingBytes) {
    const uint64_t count = std::min<uint64_t>(kStagingBytes, bytes.size() - done);
    std::memcpy(Staging().mapped(), bytes.data() + done, count);
    const VkBufferCopy region{0, offset + done, count};
    context_.Run([&](VkCommandBuffer commands) {
      context_.vk().vkCmdCopyBuffer(commands, Staging().handle(), buffer.handle(), 1, &region);
    });
  }
}

void Transfer::Download(const DeviceBuffer& buffer, uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  if (buffer.mapped() != nullptr) {
    std::memcpy(bytes.data(), buffer.mapped() + offset, bytes.size());
    return;
  }
  for (uint64_t done = 0; done < bytes.size(); done += kStagingBytes) {
    const uint64_t count = std::min<uint64_t>(kStagingBytes, bytes.size() - done);
    const VkBufferCopy region{offset + done, 0, count};
    context_.Run([&](VkCommandBuffer commands) {
      context_.vk().vkCmdCopyBuffer(commands, buffer.handle(), Staging().handle(), 1, &region);
    });
    std::memcpy(bytes.data() + done, Staging().mapped(), count);
  }
}

}  // namespace vulkan
