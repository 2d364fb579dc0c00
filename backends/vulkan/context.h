// SPDX-License-Identifier: Apache-2.0
// A logical device with its one compute queue. Work is recorded, submitted and waited for in one call.
#pragma once

#include <functional>
#include <optional>

#include "backends/vulkan/facts.h"

namespace vulkan {

class Context {
 public:
  Context(const InstanceFunctions& instance, const Facts& facts);
  ~Context();
  Context(const Context&) = delete;  // owns a VkDevice
  Context& operator=(const Context&) = delete;

  const DeviceFunctions& vk() const { return vk_; }
  VkDevice device() const { return device_; }
  const Facts& facts() const { return facts_; }
  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }

  // Runs the commands that `record` records; returns when the results are complete and visible to the host.
  void Run(const std::function<void(VkCommandBuffer)>& record);
  // Runs `record` between two time stamps of the device and returns the seconds, or nothing when the queue has no
  // clock.
  std::optional<double> RunTimed(const std::function<void(VkCommandBuffer)>& record);

  // Everything before is complete and visible to everything after.
  void Barrier(VkCommandBuffer commands, VkPipelineStageFlags next = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
               VkAccessFlags access = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT) const;

 private:
  void CreateDevice(const InstanceFunctions& instance);
  void CreateObjects();
  void Destroy();

  const Facts facts_;
  VkPhysicalDeviceMemoryProperties memory_{};
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions vk_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkQueryPool stamps_ = VK_NULL_HANDLE;
};

}  // namespace vulkan
