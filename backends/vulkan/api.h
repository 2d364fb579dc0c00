// SPDX-License-Identifier: Apache-2.0
// The entry points of Vulkan that this backend calls. They are looked up at run time in libvulkan.so.1, so that the
// plugin also loads where there is no Vulkan and can then say what to install.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "backends/common/status.h"

namespace vulkan {

// In the order of the specification: instance functions first, then those of a device.
// clang-format off
#define ASSAY_VULKAN_INSTANCE_FUNCTIONS(X)                                                    \
  X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties)  \
  X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceProperties2)                          \
  X(vkGetPhysicalDeviceFeatures2)                                                             \
  X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceQueueFamilyProperties)          \
  X(vkCreateDevice) X(vkGetDeviceProcAddr)

#define ASSAY_VULKAN_DEVICE_FUNCTIONS(X)                                                      \
  X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkQueueSubmit)                                     \
  X(vkAllocateMemory) X(vkFreeMemory) X(vkMapMemory)                                          \
  X(vkCreateBuffer) X(vkDestroyBuffer) X(vkGetBufferMemoryRequirements) X(vkBindBufferMemory) \
  X(vkCreateFence) X(vkDestroyFence) X(vkWaitForFences) X(vkResetFences)                      \
  X(vkCreateQueryPool) X(vkDestroyQueryPool) X(vkGetQueryPoolResults)                         \
  X(vkCreateShaderModule) X(vkDestroyShaderModule)                                            \
  X(vkCreatePipelineCache) X(vkDestroyPipelineCache) X(vkGetPipelineCacheData)                \
  X(vkCreateComputePipelines) X(vkDestroyPipeline)                                            \
  X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout)                                        \
  X(vkCreateDescriptorSetLayout) X(vkDestroyDescriptorSetLayout)                              \
  X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool)                                        \
  X(vkAllocateDescriptorSets) X(vkUpdateDescriptorSets)                                       \
  X(vkCreateCommandPool) X(vkDestroyCommandPool) X(vkAllocateCommandBuffers)                  \
  X(vkBeginCommandBuffer) X(vkEndCommandBuffer)                                               \
  X(vkCmdBindPipeline) X(vkCmdBindDescriptorSets) X(vkCmdPushConstants) X(vkCmdDispatch)      \
  X(vkCmdCopyBuffer) X(vkCmdFillBuffer) X(vkCmdPipelineBarrier)                               \
  X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp)
// clang-format on

#define ASSAY_VULKAN_MEMBER(name) PFN_##name name = nullptr;
struct InstanceFunctions {
  ASSAY_VULKAN_INSTANCE_FUNCTIONS(ASSAY_VULKAN_MEMBER)
};
struct DeviceFunctions {
  ASSAY_VULKAN_DEVICE_FUNCTIONS(ASSAY_VULKAN_MEMBER)
};
#undef ASSAY_VULKAN_MEMBER

// Throw Failure naming a function that the driver lacks.
InstanceFunctions LoadInstanceFunctions(PFN_vkGetInstanceProcAddr get, VkInstance instance);
DeviceFunctions LoadDeviceFunctions(PFN_vkGetDeviceProcAddr get, VkDevice device);

// "VK_ERROR_DEVICE_LOST", or the number of a result without a name here.
std::string Name(VkResult result);

// The status that a failed call becomes, with `what` it was to do.
plugin::Error ErrorOf(VkResult result, const std::string& what);

inline void Check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw ErrorOf(result, what);
}

}  // namespace vulkan
