// SPDX-License-Identifier: Apache-2.0
// The GPU plugins' own operators and kernels as plain C++, for tests on machines with neither a GPU nor HIP-CPU: device
// memory is the host's, and kernels run as vendor_host.h says. Slow, and with plain loops for matrix units.
#include "backends/gpu/backend.h"
#include "backends/gpu/device/unit_layout.h"

namespace gpu {
namespace {

std::vector<Traits> TheHost() {
  Traits t;
  t.device_type = ASSAY_DEVICE_CPU, t.architecture = t.name = "host", t.driver = "none";
  t.memory_bytes = uint64_t{1} << 32, t.device_clock = false;
  t.tanh_ulp = 4;  // glibc's
  t.SetUnit<PlainLayout>("acc=f32");
  return {t};
}

class HostBackend : public Backend {
 public:
  HostBackend() : Backend(TheHost, {}) {}
  plugin::BackendInfo Info() override { return {"gpu-host", "assay", "0.1.0", "none"}; }
};

}  // namespace
}  // namespace gpu

ASSAY_PLUGIN(gpu::HostBackend)
