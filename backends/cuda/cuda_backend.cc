// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: the kernels of backends/gpu, and NVIDIA's libraries, each of whose algorithms is judged on its own.
#include <cuda_runtime_api.h>

#include "backends/cuda/devices.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/backend.h"

namespace cuda_backend {
namespace {

class CudaBackend : public gpu::Backend {
 public:
  CudaBackend()
      : gpu::Backend(FindDevices, plugin::JoinRows<gpu::Row>({CublasLtRows(), CubRows(), CudnnConvRows(),
                                                              CudnnAttentionRows(), CufftRows()})) {}
  plugin::BackendInfo Info() override { return {"cuda", "assay", "0.1.0", "CUDA " + CudaVersionText(CUDART_VERSION)}; }
};

}  // namespace
}  // namespace cuda_backend

ASSAY_PLUGIN(cuda_backend::CudaBackend)
