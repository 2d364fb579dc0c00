// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: the kernels of backends/gpu, and NVIDIA's libraries, each of whose algorithms is judged on its own.
#include <cuda_runtime_api.h>

#include "backends/common/backend.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/rows.h"

namespace cuda_backend {
namespace {

std::span<const gpu::Row> Rows() {
  static const std::vector<gpu::Row> all = [] {
    std::vector<gpu::Row> libraries;
    for (const auto some : {CublasLtRows(), CubRows(), CudnnConvRows(), CudnnAttentionRows(), CufftRows()}) {
      libraries.insert(libraries.end(), some.begin(), some.end());
    }
    return gpu::AllRows(libraries);
  }();
  return all;
}

class CudaBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"cuda", "assay", "0.1.0", "CUDA " + CudaVersionText(CUDART_VERSION)}; }

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
}  // namespace cuda_backend

ASSAY_PLUGIN(cuda_backend::CudaBackend)
