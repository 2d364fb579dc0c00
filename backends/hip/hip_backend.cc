// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs through HIP, or HIP-CPU where this file is compiled with it. The kernels and the operators are those of
// backends/gpu.
#include "backends/common/backend.h"
#include "backends/gpu/device.h"
#include "backends/hip/devices.h"

namespace hip_backend {
namespace {

std::span<const gpu::Row> Rows() {
  static const std::vector<gpu::Row> all = gpu::AllRows({});
  return all;
}

class Backend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {kBackendName, "assay", "0.1.0", LibraryVersion()}; }

  std::vector<plugin::DeviceInfo> Devices() override {
    traits_ = FindDevices();
    std::vector<plugin::DeviceInfo> devices;
    for (const gpu::Traits& t : traits_) {
      devices.push_back({t.name, t.driver, t.device_type, t.index, t.memory_bytes, t.Properties()});
    }
    return devices;
  }

  std::unique_ptr<plugin::Device> Open(uint32_t index) override {
    return std::make_unique<gpu::Device>(traits_.at(index), Rows());
  }

 private:
  std::vector<gpu::Traits> traits_;
};

}  // namespace
}  // namespace hip_backend

ASSAY_PLUGIN(hip_backend::Backend)
