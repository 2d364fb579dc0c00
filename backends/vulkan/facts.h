// SPDX-License-Identifier: Apache-2.0
// Properties of one physical device, queried once: limits, float controls, subgroups, identity.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "backends/vulkan/api.h"

namespace vulkan {

// VkPhysicalDeviceFloatControlsProperties for one float width: modes that a shader may request, and does.
struct FloatControls {
  bool round_to_nearest = false;
  bool keep_subnormals = false;
  bool keep_special = false;  // signed zeros, infinities and NaN
};

struct Facts {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name, driver;
  uint32_t api_version = 0;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  VkPhysicalDeviceLimits limits{};
  std::array<uint8_t, VK_UUID_SIZE> device_uuid{}, driver_uuid{}, cache_uuid{};
  std::set<std::string> extensions;
  uint64_t memory_bytes = 0;    // of the largest device-local heap
  uint64_t max_allocation = 0;  // bytes of one allocation
  uint32_t subgroup_size = 1;
  bool subgroup_shuffle = false;       // subgroupShuffleXor in compute shaders
  bool full_subgroups = false;         // a pipeline may demand that all lanes of its subgroups exist
  bool subgroup_size_control = false;  // and that there are subgroup_size of them
  bool f64 = false;                    // shaderFloat64
  bool store16 = false;                // 16-bit elements in storage buffers
  FloatControls f32, f64_controls;
  bool is_llvmpipe = false;
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;  // 0: the queue has no clock

  bool Has(const char* extension) const { return extensions.count(extension) != 0; }
  const FloatControls& Controls(bool wide) const { return wide ? f64_controls : f32; }
  // Bytes that one binding may span: the device's limit, or less when ASSAY_VULKAN_MAX_BINDING says so (for tests).
  uint64_t MaxBinding() const;
  // How many steps of a loop over the lanes of a subgroup kernels unroll. All of them save exchanges between lanes,
  // which cost next to nothing on a CPU; there the compilation of the unrolled code does.
  uint32_t UnrolledSteps() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU ? 1 : subgroup_size; }
  // Limit on the loop turns of one invocation, over all its loops; none: no limit. Beyond it, the driver goes on
  // without the invocation's lanes, whose results stay unwritten. Mesa's gallivm, by which lavapipe compiles, ends
  // loops that way (LP_MAX_TGSI_LOOP_ITERATIONS): 256 lanes add up 5,590,000 elements of one axis, which is 65,509
  // turns, and not 5,592,000.
  std::optional<uint64_t> MostTurns() const;
  // Why kernels that exchange values inside a subgroup cannot run; "" when they can.
  std::string SubgroupsWhyNot() const;
  // "key=value;key=value", for the record of a run.
  std::string Properties() const;
};

// Throws Unavailable when the device cannot be used (Vulkan below 1.1, no compute queue), naming what is missing.
Facts ReadFacts(const InstanceFunctions& vk, VkPhysicalDevice device);

// Storage buffers that every kernel of this backend may bind at once.
inline constexpr uint32_t kStorageBindings = 6;

}  // namespace vulkan
