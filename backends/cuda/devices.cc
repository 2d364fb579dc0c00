// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/devices.h"

#include <cuda_runtime_api.h>

#include "backends/abi/assay_backend.h"
#include "backends/common/status.h"
#include "backends/cuda/driver.h"
#include "backends/gpu/device/unit_layout.h"

namespace cuda_backend {
namespace {

gpu::Traits Describe(int index, const cudaDeviceProp& properties) {
  gpu::Traits t;
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  t.index = index, t.device_type = ASSAY_DEVICE_CUDA, t.name = properties.name;
  t.driver = "CUDA driver " + CudaVersionText(driver);
  t.major = properties.major, t.minor = properties.minor;
  t.architecture = fmt::format("sm_{}{}", t.major, t.minor);
  t.memory_bytes = properties.totalGlobalMem, t.shared_bytes = properties.sharedMemPerBlock;
  t.cache_bytes = properties.l2CacheSize > 0 ? static_cast<uint64_t>(properties.l2CacheSize) : 0;
  t.units = properties.multiProcessorCount;
  t.atomics_flush = true;  // PTX ISA, "atom": in f32 on global memory, which atomicAdd comes to
  t.SetUnit<gpu::NvidiaLayout>(TensorCoreAccumulator(t.major, 16));
  t.has_fp8 = 10 * t.major + t.minor >= 89;
  // CUDA C++ Programming Guide, "Mathematical Functions", without -use_fast_math
  t.exp_ulp = 2, t.tanh_ulp = 2, t.erf_ulp = 2;
  return t;
}

}  // namespace

// Fraction bits that are kept when a block's products and its sum are aligned to the largest exponent, and the terms of
// a block: Ampere and Ada take an instruction in two halves.
std::string TensorCoreAccumulator(int major, int terms) {
  return major >= 9 ? fmt::format("acc=tc<25,{}>", terms) : fmt::format("acc=tc<24,{}>", terms / 2);
}

std::vector<gpu::Traits> FindDevices() {
  const DriverState driver = AskDriver();
  if (const std::string reason = DriverWhyNot(driver, CUDART_VERSION); !reason.empty()) {
    throw plugin::Unavailable("{}", reason);
  }
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    throw plugin::Unavailable("the CUDA runtime finds no device: {}", cudaGetErrorString(status));
  }
  std::vector<gpu::Traits> found;
  cudaError_t status = cudaSuccess;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    const cudaError_t described = cudaGetDeviceProperties(&properties, index);
    if (described == cudaSuccess) found.push_back(Describe(index, properties));
    if (described != cudaSuccess) status = described;
  }
  if (found.empty()) {
    throw plugin::Unavailable("the CUDA runtime describes none of its {} devices: {}", count,
                              cudaGetErrorString(status));
  }
  const auto is_built_for = [](const gpu::Traits& t) { return 10 * t.major + t.minor >= ASSAY_CUDA_OLDEST; };
  return gpu::KeepBuiltFor(std::move(found), is_built_for, fmt::format("sm_{} and later", ASSAY_CUDA_OLDEST),
                           "ASSAY_CUDA_ARCHITECTURES");
}

}  // namespace cuda_backend
