// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/context.h"

#include <array>
#include <vector>

namespace vulkan {

Context::Context(const InstanceFunctions& instance, const Facts& facts) : facts_(facts) {
  instance.vkGetPhysicalDeviceMemoryProperties(facts.handle, &memory_);
  CreateDevice(instance);
  try {
    CreateObjects();
  } catch (...) {
    Destroy();
    throw;
  }
}

Context::~Context() {
  Destroy();
}

// Only features that a kernel of this backend uses are switched on.
void Context::CreateDevice(const InstanceFunctions& instance) {
  VkPhysicalDevice16BitStorageFeatures storage{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  storage.storageBuffer16BitAccess = facts_.store16;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &storage, {}};
  features.features.shaderFloat64 = facts_.f64;
  std::vector<const char*> extensions;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  if (facts_.full_subgroups) {
    sizes.computeFullSubgroups = VK_TRUE;
    sizes.subgroupSizeControl = facts_.subgroup_size_control;
    storage.pNext = &sizes;
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  }
  if (facts_.Has(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  }
  // The specification asks for it wherever a driver lists it.
  constexpr const char* kPortability = "VK_KHR_portability_subset";
  if (facts_.Has(kPortability)) extensions.push_back(kPortability);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = facts_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  Check(instance.vkCreateDevice(facts_.handle, &info, nullptr, &device_), "opening the device");
  vk_ = LoadDeviceFunctions(instance.vkGetDeviceProcAddr, device_);
  vk_.vkGetDeviceQueue(device_, facts_.queue_family, 0, &queue_);
}

void Context::CreateObjects() {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = facts_.queue_family;
  Check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "creating a command pool");
  VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = pool_;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  Check(vk_.vkAllocateCommandBuffers(device_, &commands, &commands_), "allocating a command buffer");
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  Check(vk_.vkCreateFence(device_, &fence, nullptr, &fence_), "creating a fence");
  if (facts_.timestamp_bits == 0) return;
  VkQueryPoolCreateInfo stamps{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  stamps.queryType = VK_QUERY_TYPE_TIMESTAMP;
  stamps.queryCount = 2;
  Check(vk_.vkCreateQueryPool(device_, &stamps, nullptr, &stamps_), "creating time stamps");
}

void Context::Destroy() {
  vk_.vkDestroyQueryPool(device_, stamps_, nullptr);
  vk_.vkDestroyFence(device_, fence_, nullptr);
  vk_.vkDestroyCommandPool(device_, pool_, nullptr);
  vk_.vkDestroyDevice(device_, nullptr);
}

void Context::Barrier(VkCommandBuffer commands, VkPipelineStageFlags next, VkAccessFlags access) const {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_MEMORY_WRITE_BIT, access};
  vk_.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, next, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Context::Run(const std::function<void(VkCommandBuffer)>& record) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  Check(vk_.vkBeginCommandBuffer(commands_, &begin), "recording");
  Barrier(commands_);
  record(commands_);
  Barrier(commands_, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  Check(vk_.vkEndCommandBuffer(commands_), "recording");
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  Check(vk_.vkResetFences(device_, 1, &fence_), "resetting a fence");
  Check(vk_.vkQueueSubmit(queue_, 1, &submit, fence_), "submitting");
  // Without a limit: the harness ends a worker that takes too long.
  Check(vk_.vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "waiting for the device");
}

std::optional<double> Context::RunTimed(const std::function<void(VkCommandBuffer)>& record) {
  if (stamps_ == VK_NULL_HANDLE) {
    Run(record);
    return std::nullopt;
  }
  Run([&](VkCommandBuffer commands) {
    vk_.vkCmdResetQueryPool(commands, stamps_, 0, 2);
    vk_.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps_, 0);
    record(commands);
    vk_.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps_, 1);
  });
  std::array<uint64_t, 2> ticks{};
  Check(vk_.vkGetQueryPoolResults(device_, stamps_, 0, 2, sizeof ticks, ticks.data(), sizeof(uint64_t),
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "reading time stamps");
  // Counters of fewer than 64 bits wrap around.
  const uint64_t mask = facts_.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << facts_.timestamp_bits) - 1;
  return static_cast<double>((ticks[1] - ticks[0]) & mask) * facts_.limits.timestampPeriod * 1e-9;
}

}  // namespace vulkan
