// SPDX-License-Identifier: Apache-2.0
// The loader, an instance, and the devices that can be used.
#pragma once

#include <vector>

#include "backends/vulkan/facts.h"

namespace vulkan {

class Instance {
 public:
  // Throws Unavailable, naming what to install, when there is no loader, no driver or no usable device.
  Instance();
  ~Instance();
  Instance(const Instance&) = delete;  // owns a VkInstance
  Instance& operator=(const Instance&) = delete;

  const InstanceFunctions& vk() const { return vk_; }
  const std::vector<Facts>& devices() const { return devices_; }

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
  InstanceFunctions vk_;
  std::vector<Facts> devices_;
};

}  // namespace vulkan
