// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs through HIP, or HIP-CPU where this file is compiled with it. The kernels and the operators are those of
// backends/gpu.
#include "backends/gpu/backend.h"
#include "backends/hip/devices.h"

namespace hip_backend {
namespace {

class HipBackend : public gpu::Backend {
 public:
  HipBackend() : gpu::Backend(FindDevices, {}) {}
  plugin::BackendInfo Info() override { return {kBackendName, "assay", "0.1.0", LibraryVersion()}; }
};

}  // namespace
}  // namespace hip_backend

ASSAY_PLUGIN(hip_backend::HipBackend)
