// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/devices.h"

#include <hip/hip_runtime_api.h>
#include <unistd.h>

#include <string_view>

#include "backends/common/status.h"
#include "backends/gpu/device/unit_layout.h"

namespace hip_backend {
namespace {

std::string VersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

// Explains from the system's files why the process cannot use an AMD GPU.
std::string WhatToCheck() {
  if (access("/dev/kfd", F_OK) != 0) {
    return "/dev/kfd is absent: is there a supported AMD GPU, and is the kernel module amdgpu loaded?";
  }
  if (access("/dev/kfd", R_OK | W_OK) != 0) {
    return "/dev/kfd may not be opened by this user: join the groups render and video";
  }
  return "check that rocminfo lists a GPU, and that HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES do not hide it";
}

// "gfx90a:sramecc+:xnack-" names an architecture and its modes.
std::string Architecture(std::string_view full) {
  return std::string(full.substr(0, full.find(':')));
}

bool IsBuiltFor(const gpu::Traits& device) {
  const std::string built = std::string(",") + ASSAY_HIP_BUILT_FOR + ",";
  return built.find(fmt::format(",{},", device.architecture)) != std::string::npos;
}

gpu::Traits Describe(int index, const hipDeviceProp_t& properties) {
  gpu::Traits t;
  int driver = 0;
  (void)hipDriverGetVersion(&driver);
  t.index = index, t.device_type = ASSAY_DEVICE_ROCM, t.architecture = Architecture(properties.gcnArchName);
  t.name = properties.name[0] != '\0' ? properties.name : t.architecture;
  t.driver = "HIP driver " + VersionText(driver);
  t.major = properties.major, t.minor = properties.minor;
  t.memory_bytes = properties.totalGlobalMem, t.shared_bytes = properties.sharedMemPerBlock;
  t.cache_bytes = properties.l2CacheSize > 0 ? static_cast<uint64_t>(properties.l2CacheSize) : 0;
  t.units = properties.multiProcessorCount;
  t.grid_threads = UINT32_MAX;  // of every launch of HIP (hip_runtime_api.h, hipModuleLaunchKernel)
  // ROCm's device libraries keep OpenCL's limits.
  t.exp_ulp = 3, t.tanh_ulp = 5, t.erf_ulp = 16;
  if (t.architecture == "gfx90a") {
    // CDNA 2 adds pairs to nearest in f32, and flushes subnormals of operands and results.
    t.SetUnit<gpu::CdnaLayout>("acc=f32;ftz=all");
  } else if (t.architecture.starts_with("gfx94")) {
    t.SetUnit<gpu::CdnaLayout>("acc=tc<24,8>");  // CDNA 3 adds eight products at once
  } else if (t.architecture.starts_with("gfx110")) {
    // It is not published how many bits of a product RDNA 3 keeps: the contract is that of the weakest known unit.
    t.SetUnit<gpu::RdnaLayout>("acc=tc<23,4>;ftz=all");
  }
  return t;
}

}  // namespace

const char* const kBackendName = "hip";

std::string LibraryVersion() {
  return "HIP " + VersionText(HIP_VERSION);
}

std::vector<gpu::Traits> FindDevices() {
  int count = 0;
  const hipError_t status = hipGetDeviceCount(&count);
  if (status != hipSuccess || count == 0) {
    throw plugin::Unavailable("no AMD device ({}): {}",
                              status == hipSuccess ? "none listed" : hipGetErrorString(status), WhatToCheck());
  }
  std::vector<gpu::Traits> found;
  hipError_t failure = hipSuccess;
  for (int index = 0; index < count; ++index) {
    hipDeviceProp_t properties{};
    const hipError_t described = hipGetDeviceProperties(&properties, index);
    if (described == hipSuccess) found.push_back(Describe(index, properties));
    if (described != hipSuccess) failure = described;
  }
  if (found.empty()) {
    throw plugin::Unavailable("HIP describes none of its {} devices ({}): {}", count, hipGetErrorString(failure),
                              WhatToCheck());
  }
  return gpu::KeepBuiltFor(std::move(found), IsBuiltFor, ASSAY_HIP_BUILT_FOR, "ASSAY_HIP_ARCHITECTURES");
}

}  // namespace hip_backend
