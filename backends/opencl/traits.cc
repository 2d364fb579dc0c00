// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/traits.h"

#include <algorithm>

#include "backends/common/status.h"
#include "backends/opencl/handle.h"
#include "backends/opencl/pocl_cache.h"
#include "backends/opencl/thread_stacks.h"

namespace opencl {
namespace {

template <class T>
T Number(cl_device_id device, cl_device_info what) {
  T value{};
  Check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

template <class Get>
std::string Text(const Get& get, const char* call) {
  size_t bytes = 0;
  Check(get(size_t{0}, static_cast<void*>(nullptr), &bytes), call);
  std::string text(bytes, '\0');
  Check(get(bytes, static_cast<void*>(text.data()), nullptr), call);
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string DeviceText(cl_device_id device, cl_device_info what) {
  return Text([=](size_t n, void* to, size_t* size) { return clGetDeviceInfo(device, what, n, to, size); },
              "clGetDeviceInfo");
}

std::string PlatformText(cl_platform_id platform, cl_platform_info what) {
  return Text([=](size_t n, void* to, size_t* size) { return clGetPlatformInfo(platform, what, n, to, size); },
              "clGetPlatformInfo");
}

Traits Describe(cl_platform_id platform, cl_device_id id) {
  Traits t{platform, id};
  t.name = DeviceText(id, CL_DEVICE_NAME), t.driver = DeviceText(id, CL_DRIVER_VERSION);
  t.platform_name = PlatformText(platform, CL_PLATFORM_NAME), t.version = DeviceText(id, CL_DEVICE_VERSION);
  t.f32 = Number<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG);
  // Devices of OpenCL 1.1 and older may not know the query.
  if (clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof t.f64, &t.f64, nullptr) != CL_SUCCESS) t.f64 = 0;
  t.memory_bytes = Number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  t.max_alloc_bytes = Number<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  t.local_bytes = Number<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  t.cache_bytes = Number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  t.base_align_bytes = std::max<uint64_t>(Number<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 1);  // it is in bits
  t.max_group = Number<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  t.units = Number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  t.is_cpu = (Number<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  return t;
}

// Why the device cannot run the kernels; "" when it can.
std::string WhyNot(const Traits& t) {
  if (t.version.starts_with("OpenCL 1.0") || t.version.starts_with("OpenCL 1.1"))
    return t.version + " is older than 1.2";
  if (Number<cl_bool>(t.id, CL_DEVICE_AVAILABLE) != CL_TRUE) return "the driver says that it is not available";
  if (Number<cl_bool>(t.id, CL_DEVICE_COMPILER_AVAILABLE) != CL_TRUE) return "its driver has no compiler";
  if (Number<cl_bool>(t.id, CL_DEVICE_ENDIAN_LITTLE) != CL_TRUE) return "it is big-endian";
  return "";
}

std::vector<cl_platform_id> Platforms() {
  cl_uint count = 0;
  // The loader's own "no platform" status has no name in the core headers (CL_PLATFORM_NOT_FOUND_KHR).
  constexpr cl_int kPlatformNotFound = -1001;
  const cl_int status = clGetPlatformIDs(0, nullptr, &count);
  if (status != kPlatformNotFound) Check(status, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(status == CL_SUCCESS ? count : 0);
  if (!platforms.empty()) Check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  return platforms;
}

std::vector<cl_device_id> DevicesOf(cl_platform_id platform) {
  cl_uint count = 0;
  const cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (status == CL_DEVICE_NOT_FOUND) return {};
  Check(status, "clGetDeviceIDs");
  std::vector<cl_device_id> devices(count);
  if (count > 0) Check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "clGetDeviceIDs");
  return devices;
}

// Why a platform lists no device, where that can be told.
std::string WhyEmpty(cl_platform_id platform) {
  const std::string name = PlatformText(platform, CL_PLATFORM_NAME);
  const std::string problem = name == kPoclPlatform ? PoclCacheProblem() : "";
  return problem.empty() ? "" : fmt::format("; {}: {}", name, problem);
}

const char* YesNo(bool yes) {
  return yes ? "yes" : "no";
}

}  // namespace

std::string Traits::Properties() const {
  return fmt::format(
      "platform={};version={};subnormals_f32={};rounding_f32={};fma_f32={};rounded_divide_sqrt_f32={};f64={};"
      "compute_units={};max_alloc_bytes={};type={};cache_bytes={}",
      platform_name, version, KeepsSubnormals(false) ? "kept" : "flushed", RoundsToNearest(false) ? "rn" : "rz",
      YesNo(HasFma(false)), YesNo(RoundsDivideAndSqrt()), YesNo(HasF64()), units, max_alloc_bytes,
      is_cpu ? "cpu" : "accelerator", cache_bytes);
}

std::vector<Traits> FindDevices() {
  RaiseThreadStacks();
  const std::vector<cl_platform_id> platforms = Platforms();
  if (platforms.empty()) {
    throw plugin::Unavailable(
        "the OpenCL loader finds no platform: install pocl-opencl-icd (the host's processor) or the ICD of the "
        "device's vendor, and see that /etc/OpenCL/vendors, or OCL_ICD_VENDORS where it is set, lists it");
  }
  std::vector<Traits> found;
  std::string reasons, advice = "; install pocl-opencl-icd for the processor";
  for (cl_platform_id platform : platforms) {
    const std::vector<cl_device_id> devices = DevicesOf(platform);
    const std::string why_empty = devices.empty() ? WhyEmpty(platform) : "";
    reasons += why_empty;
    if (!why_empty.empty()) advice.clear();  // it is installed
    for (cl_device_id id : devices) {
      Traits traits = Describe(platform, id);
      const std::string reason = WhyNot(traits);
      if (reason.empty()) {
        found.push_back(std::move(traits));
      } else {
        reasons += fmt::format("; {}: {}", traits.name, reason);
      }
    }
  }
  if (found.empty()) {
    throw plugin::Unavailable("{} OpenCL platform(s), but no usable device{}{}", platforms.size(), reasons, advice);
  }
  return found;
}

}  // namespace opencl
