/* SPDX-License-Identifier: Apache-2.0
 * A Vulkan loader for tests: the real one (ASSAY_TEST_REAL_VULKAN), but for the call that ASSAY_TEST_VULKAN_FAULT makes
 * fail: old (a driver of Vulkan 1.0), none (no device), lost (at submission), memory (an allocation) or pipeline. With
 * ASSAY_TEST_VULKAN_ONCE, a file that does not exist yet, the last three fail once; a lost device stays lost in its
 * process.
 */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static int Fault(const char* name) {
  const char* fault = getenv("ASSAY_TEST_VULKAN_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

/* Whether this call is to fail. */
static int FailsNow(void) {
  const char* once = getenv("ASSAY_TEST_VULKAN_ONCE");
  if (once == NULL) return 1;
  const int file = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return file >= 0;
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
static PFN_vkQueueSubmit real_submit;
static PFN_vkAllocateMemory real_allocate;
static PFN_vkCreateComputePipelines real_pipelines;

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
  static int lost;
  lost = lost || FailsNow();
  return lost ? VK_ERROR_DEVICE_LOST : real_submit(queue, n, infos, fence);
}
static VKAPI_ATTR VkResult VKAPI_CALL NoMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  if (!FailsNow()) return real_allocate(device, info, callbacks, out);
  *out = VK_NULL_HANDLE;
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
static VKAPI_ATTR VkResult VKAPI_CALL NoPipeline(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                 const VkComputePipelineCreateInfo* infos,
                                                 const VkAllocationCallbacks* callbacks, VkPipeline* out) {
  if (!FailsNow()) return real_pipelines(device, cache, n, infos, callbacks, out);
  *out = VK_NULL_HANDLE;
  return VK_ERROR_INITIALIZATION_FAILED;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL DeviceProc(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device_proc(device, name);
  if (Fault("lost") && strcmp(name, "vkQueueSubmit") == 0) {
    real_submit = (PFN_vkQueueSubmit)real;
    return (PFN_vkVoidFunction)LostSubmit;
  }
  if (Fault("memory") && strcmp(name, "vkAllocateMemory") == 0) {
    real_allocate = (PFN_vkAllocateMemory)real;
    return (PFN_vkVoidFunction)NoMemory;
  }
  if (Fault("pipeline") && strcmp(name, "vkCreateComputePipelines") == 0) {
    real_pipelines = (PFN_vkCreateComputePipelines)real;
    return (PFN_vkVoidFunction)NoPipeline;
  }
  return real;
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
