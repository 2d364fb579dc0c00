/* SPDX-License-Identifier: Apache-2.0
 * A Vulkan loader for tests: the real one (ASSAY_TEST_REAL_VULKAN), but for the call that ASSAY_TEST_VULKAN_FAULT makes
 * fail: old (a driver of Vulkan 1.0), none (no device), lost (at submission), memory (every allocation) or pipeline.
 */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static int Fault(const char* name) {
  const char* fault = getenv("ASSAY_TEST_VULKAN_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

static PFN_vkGetInstanceProcAddr Real(void) {
  static PFN_vkGetInstanceProcAddr real = NULL;
  if (real == NULL) {
    void* library = dlopen(getenv("ASSAY_TEST_REAL_VULKAN"), RTLD_NOW | RTLD_LOCAL);
    *(void**)&real = library != NULL ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (real == NULL) abort();
  }
  return real;
}

static PFN_vkGetPhysicalDeviceProperties real_properties;
static PFN_vkGetDeviceProcAddr real_device_proc;

static VKAPI_ATTR void VKAPI_CALL OldProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties* out) {
  real_properties(device, out);
  out->apiVersion = VK_API_VERSION_1_0;
}
static VKAPI_ATTR VkResult VKAPI_CALL NoDevices(VkInstance instance, uint32_t* count, VkPhysicalDevice* out) {
  (void)instance, (void)out;
  *count = 0;
  return VK_SUCCESS;
}
static VKAPI_ATTR VkResult VKAPI_CALL LostSubmit(VkQueue queue, uint32_t n, const VkSubmitInfo* infos, VkFence fence) {
  (void)queue, (void)n, (void)infos, (void)fence;
  return VK_ERROR_DEVICE_LOST;
}
static VKAPI_ATTR VkResult VKAPI_CALL NoMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  (void)device, (void)info, (void)callbacks;
  *out = VK_NULL_HANDLE;
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
static VKAPI_ATTR VkResult VKAPI_CALL NoPipeline(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                 const VkComputePipelineCreateInfo* infos,
                                                 const VkAllocationCallbacks* callbacks, VkPipeline* out) {
  (void)device, (void)cache, (void)n, (void)infos, (void)callbacks;
  *out = VK_NULL_HANDLE;
  return VK_ERROR_INITIALIZATION_FAILED;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL DeviceProc(VkDevice device, const char* name) {
  if (Fault("lost") && strcmp(name, "vkQueueSubmit") == 0) return (PFN_vkVoidFunction)LostSubmit;
  if (Fault("memory") && strcmp(name, "vkAllocateMemory") == 0) return (PFN_vkVoidFunction)NoMemory;
  if (Fault("pipeline") && strcmp(name, "vkCreateComputePipelines") == 0) return (PFN_vkVoidFunction)NoPipeline;
  return real_device_proc(device, name);
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = Real()(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
    real_device_proc = (PFN_vkGetDeviceProcAddr)real;
    return (PFN_vkVoidFunction)DeviceProc;
  }
  if (Fault("old") && strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
    real_properties = (PFN_vkGetPhysicalDeviceProperties)real;
    return (PFN_vkVoidFunction)OldProperties;
  }
  if (Fault("none") && strcmp(name, "vkEnumeratePhysicalDevices") == 0) return (PFN_vkVoidFunction)NoDevices;
  return real;
}
