// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/facts.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace vulkan {
namespace {

using Independence = VkShaderFloatControlsIndependence;

std::set<std::string> ExtensionsOf(const InstanceFunctions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  Check(vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr), "listing device extensions");
  std::vector<VkExtensionProperties> list(count);
  Check(vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, list.data()), "listing device extensions");
  std::set<std::string> names;
  for (const VkExtensionProperties& extension : list) names.insert(extension.extensionName);
  return names;
}

void ReadQueues(const InstanceFunctions& vk, Facts& facts) {
  uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, families.data());
  const auto compute = [](const VkQueueFamilyProperties& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; };
  const auto found = std::find_if(families.begin(), families.end(), compute);
  if (found == families.end()) throw plugin::Unavailable("{}: the device has no compute queue", facts.name);
  facts.queue_family = static_cast<uint32_t>(found - families.begin());
  facts.timestamp_bits = facts.limits.timestampPeriod > 0 ? found->timestampValidBits : 0;
}

void ReadMemory(const InstanceFunctions& vk, Facts& facts) {
  VkPhysicalDeviceMemoryProperties memory{};
  vk.vkGetPhysicalDeviceMemoryProperties(facts.handle, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      facts.memory_bytes = std::max(facts.memory_bytes, heap.size);
    }
  }
}

// A control that must be the same for several widths is asked for only where all of them have it.
void SetControls(const VkPhysicalDeviceFloatControlsProperties& p, Facts& facts) {
  const auto all = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  const auto only32 = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  const auto joint = [](Independence independence, bool f16, bool f32, bool f64, bool& out32, bool& out64) {
    out32 = f32 && (independence == all || independence == only32 || (f16 && f64));
    out64 = f64 && (independence == all || (f16 && (independence == only32 || f32)));
  };
  joint(p.roundingModeIndependence, p.shaderRoundingModeRTEFloat16, p.shaderRoundingModeRTEFloat32,
        p.shaderRoundingModeRTEFloat64, facts.f32.round_to_nearest, facts.f64_controls.round_to_nearest);
  joint(p.denormBehaviorIndependence, p.shaderDenormPreserveFloat16, p.shaderDenormPreserveFloat32,
        p.shaderDenormPreserveFloat64, facts.f32.keep_subnormals, facts.f64_controls.keep_subnormals);
  facts.f32.keep_special = p.shaderSignedZeroInfNanPreserveFloat32 != 0;
  facts.f64_controls.keep_special = p.shaderSignedZeroInfNanPreserveFloat64 != 0;
}

void ReadProperties(const InstanceFunctions& vk, Facts& facts) {
  const bool v12 = facts.api_version >= VK_API_VERSION_1_2;
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr, {}};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties allocation{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties controls{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  const auto chain = [&](auto& member) { member.pNext = properties.pNext, properties.pNext = &member; };
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  chain(subgroup), chain(id), chain(allocation);
  if (facts.Has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) chain(sizes);
  if (v12 || facts.Has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) chain(driver);
  if (v12 || facts.Has(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) chain(controls);
  vk.vkGetPhysicalDeviceProperties2(facts.handle, &properties);

  facts.subgroup_size = std::max(1u, subgroup.subgroupSize);
  facts.subgroup_size_control = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  facts.subgroup_shuffle = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                           (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  std::copy_n(id.deviceUUID, VK_UUID_SIZE, facts.device_uuid.begin());
  std::copy_n(id.driverUUID, VK_UUID_SIZE, facts.driver_uuid.begin());
  facts.max_allocation = allocation.maxMemoryAllocationSize;
  const uint32_t version = properties.properties.driverVersion;
  facts.driver = driver.driverName[0] != '\0' ? fmt::format("{} {}", driver.driverName, driver.driverInfo)
                                              : fmt::format("driver version {:#x}", version);
  facts.is_llvmpipe = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  SetControls(controls, facts);
}

void ReadFeatures(const InstanceFunctions& vk, Facts& facts) {
  VkPhysicalDevice16BitStorageFeatures storage{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &storage, {}};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  if (facts.Has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) storage.pNext = &sizes;
  vk.vkGetPhysicalDeviceFeatures2(facts.handle, &features);
  facts.f64 = features.features.shaderFloat64 != 0;
  facts.full_subgroups = sizes.computeFullSubgroups != 0;
  facts.subgroup_size_control = facts.subgroup_size_control && sizes.subgroupSizeControl != 0;
  facts.store16 = storage.storageBuffer16BitAccess != 0;
}

const char* TypeText(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

std::string ControlsText(const FloatControls& c) {
  return fmt::format("{},{},{}", c.round_to_nearest ? "rn" : "rounding unspecified",
                     c.keep_subnormals ? "subnormals kept" : "subnormals may be flushed",
                     c.keep_special ? "inf and nan kept" : "inf and nan not promised");
}

}  // namespace

Facts ReadFacts(const InstanceFunctions& vk, VkPhysicalDevice device) {
  Facts facts;
  facts.handle = device;
  VkPhysicalDeviceProperties basic{};
  vk.vkGetPhysicalDeviceProperties(device, &basic);
  facts.name = basic.deviceName;
  facts.api_version = basic.apiVersion;
  facts.type = basic.deviceType;
  facts.limits = basic.limits;
  std::copy_n(basic.pipelineCacheUUID, VK_UUID_SIZE, facts.cache_uuid.begin());
  if (basic.apiVersion < VK_API_VERSION_1_1) {
    throw plugin::Unavailable("{}: its driver offers Vulkan {}.{}, this backend needs 1.1; update the driver",
                              facts.name, VK_API_VERSION_MAJOR(basic.apiVersion),
                              VK_API_VERSION_MINOR(basic.apiVersion));
  }
  if (facts.limits.maxPerStageDescriptorStorageBuffers < kStorageBindings) {
    throw plugin::Unavailable("{}: {} storage buffers per shader, this backend binds {}", facts.name,
                              facts.limits.maxPerStageDescriptorStorageBuffers, kStorageBindings);
  }
  facts.extensions = ExtensionsOf(vk, device);
  ReadQueues(vk, facts);
  ReadMemory(vk, facts);
  ReadProperties(vk, facts);
  ReadFeatures(vk, facts);
  return facts;
}

uint64_t Facts::MaxBinding() const {
  const char* value = std::getenv("ASSAY_VULKAN_MAX_BINDING");
  const uint64_t wanted = value != nullptr ? std::strtoull(value, nullptr, 10) : 0;
  return wanted > 0 ? std::min<uint64_t>(wanted, limits.maxStorageBufferRange) : limits.maxStorageBufferRange;
}

std::optional<uint64_t> Facts::MostTurns() const {
  constexpr uint64_t kMostOfGallivm = 65535;
  return is_llvmpipe ? std::optional(kMostOfGallivm) : std::nullopt;
}

std::string Facts::SubgroupsWhyNot() const {
  if (!subgroup_shuffle) return fmt::format("{} has no subgroup shuffle in compute shaders", name);
  if (!full_subgroups) return fmt::format("{} does not promise full subgroups (VK_EXT_subgroup_size_control)", name);
  // Unrolled over the lanes, and a workgroup holds four subgroups.
  if (subgroup_size > 64 || 4 * subgroup_size > limits.maxComputeWorkGroupInvocations) {
    return fmt::format("{} has subgroups of {} lanes; at most 64", name, subgroup_size);
  }
  return "";
}

std::string Facts::Properties() const {
  return fmt::format(
      "vulkan={}.{}.{};type={};subgroup={};shared={};max_storage_buffer={};f32={};f64={};store16={};timestamp_ns={}",
      VK_API_VERSION_MAJOR(api_version), VK_API_VERSION_MINOR(api_version), VK_API_VERSION_PATCH(api_version),
      TypeText(type), subgroup_size, limits.maxComputeSharedMemorySize, limits.maxStorageBufferRange, ControlsText(f32),
      f64 ? ControlsText(f64_controls) : "absent", store16 ? "yes" : "no",
      timestamp_bits > 0 ? fmt::format("{}", limits.timestampPeriod) : "absent");
}

}  // namespace vulkan
