// SPDX-License-Identifier: Apache-2.0
#include <hip/hip_runtime_api.h>

#include "backends/abi/assay_backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/gpu/device/unit_layout.h"
#include "backends/hip/devices.h"

namespace hip_backend {

const char* const kBackendName = "hip-cpu";

std::string LibraryVersion() {
  return "HIP-CPU";
}

std::vector<gpu::Traits> FindDevices() {
  hipDeviceProp_t properties{};
  if (hipGetDeviceProperties(&properties, 0) != hipSuccess) throw plugin::Unavailable("HIP-CPU describes no device");
  gpu::Traits t;
  t.device_type = ASSAY_DEVICE_CPU, t.architecture = "cpu", t.name = properties.name, t.driver = "HIP-CPU";
  t.memory_bytes = plugin::HostMemoryBytes(), t.cache_bytes = plugin::LastLevelCacheBytes();
  t.units = properties.multiProcessorCount, t.device_clock = false;
  t.SetUnit<gpu::PlainLayout>("acc=f32");
  return {t};
}

}  // namespace hip_backend
