// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/api.h"

namespace vulkan {
namespace {

[[noreturn]] void FailMissing(const char* name) {
  throw plugin::Failure("the Vulkan driver has no {}; update the driver", name);
}

}  // namespace

#define ASSAY_VULKAN_LOAD(name)                                   \
  f.name = reinterpret_cast<decltype(f.name)>(get(owner, #name)); \
  if (f.name == nullptr) FailMissing(#name);

InstanceFunctions LoadInstanceFunctions(PFN_vkGetInstanceProcAddr get, VkInstance owner) {
  InstanceFunctions f;
  ASSAY_VULKAN_INSTANCE_FUNCTIONS(ASSAY_VULKAN_LOAD)
  return f;
}

DeviceFunctions LoadDeviceFunctions(PFN_vkGetDeviceProcAddr get, VkDevice owner) {
  DeviceFunctions f;
  ASSAY_VULKAN_DEVICE_FUNCTIONS(ASSAY_VULKAN_LOAD)
  return f;
}

#undef ASSAY_VULKAN_LOAD

std::string Name(VkResult result) {
  switch (result) {
    case VK_NOT_READY:
      return "VK_NOT_READY";
    case VK_TIMEOUT:
      return "VK_TIMEOUT";
    case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

plugin::Error ErrorOf(VkResult result, const std::string& what) {
  const std::string text = fmt::format("{}: {}", what, Name(result));
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return {ASSAY_OUT_OF_MEMORY, text + "; free memory there, or take smaller cases"};
    case VK_ERROR_DEVICE_LOST:
      return {ASSAY_DEVICE_LOST, text + "; the driver's log (dmesg) may say why"};
    default:
      return {ASSAY_ERROR, text};
  }
}

}  // namespace vulkan
