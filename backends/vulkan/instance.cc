// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/instance.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace vulkan {
namespace {

constexpr const char* kLoader = "libvulkan.so.1";
constexpr const char* kDrivers = "a Vulkan driver (Debian: mesa-vulkan-drivers, or the GPU vendor's package)";

// Never closed: drivers keep threads and exit handlers.
PFN_vkGetInstanceProcAddr OpenLoader() {
  void* library = dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw plugin::Unavailable("the Vulkan loader cannot be opened ({}); install it (Debian: libvulkan1) and {}",
                              dlerror(), kDrivers);
  }
  const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (get == nullptr) throw plugin::Unavailable("{} has no vkGetInstanceProcAddr; reinstall the loader", kLoader);
  return get;
}

// Which drivers the loader was told to use, for messages.
std::string DriverVariables() {
  std::string text;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    if (const char* value = std::getenv(name); value != nullptr) text += fmt::format("; {}={} is set", name, value);
  }
  return text;
}

VkInstance CreateInstance(PFN_vkGetInstanceProcAddr get) {
  const auto version =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(get(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  uint32_t offered = VK_API_VERSION_1_0;
  if (version != nullptr) version(&offered);
  if (create == nullptr || offered < VK_API_VERSION_1_1) {
    throw plugin::Unavailable("the Vulkan loader offers 1.0, this backend needs 1.1; update libvulkan1");
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "assay";
  application.apiVersion = std::min<uint32_t>(offered, VK_API_VERSION_1_2);
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = create(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    throw plugin::Unavailable("the Vulkan loader finds no driver; install {}{}", kDrivers, DriverVariables());
  }
  Check(result, "creating a Vulkan instance");
  return instance;
}

std::vector<Facts> UsableDevices(const InstanceFunctions& vk, VkInstance instance) {
  uint32_t count = 0;
  Check(vk.vkEnumeratePhysicalDevices(instance, &count, nullptr), "listing Vulkan devices");
  std::vector<VkPhysicalDevice> handles(count);
  Check(vk.vkEnumeratePhysicalDevices(instance, &count, handles.data()), "listing Vulkan devices");
  std::vector<Facts> devices;
  std::string problems;
  for (VkPhysicalDevice handle : handles) {
    try {
      devices.push_back(ReadFacts(vk, handle));
    } catch (const plugin::Error& error) {
      if (error.status() != ASSAY_UNAVAILABLE) throw;
      problems += fmt::format("{}{}", problems.empty() ? "" : "; ", error.what());
    }
  }
  if (!devices.empty()) return devices;
  if (!problems.empty()) throw plugin::Unavailable("{}", problems);
  throw plugin::Unavailable("the Vulkan drivers list no device; install {}{}", kDrivers, DriverVariables());
}

}  // namespace

Instance::Instance() {
  const PFN_vkGetInstanceProcAddr get = OpenLoader();
  instance_ = CreateInstance(get);
  vk_ = LoadInstanceFunctions(get, instance_);
  try {
    devices_ = UsableDevices(vk_, instance_);
  } catch (...) {
    vk_.vkDestroyInstance(instance_, nullptr);
    throw;
  }
}

Instance::~Instance() {
  vk_.vkDestroyInstance(instance_, nullptr);
}

}  // namespace vulkan
