// SPDX-License-Identifier: Apache-2.0
// Every device of every OpenCL platform, a column each. The rows stand beside each operator's kernels.
#include "backends/opencl/table.h"
#include "backends/opencl/vkfft.h"

namespace opencl {
namespace {

std::span<const Row> Rows() {
  static const std::vector<Row> all =
      plugin::JoinRows<Row>({AttentionRows(), CodeRows(), ConvRows(), FftRows(), LineRows(), MatmulRows(), PointRows(),
                             PoolingRows(), ReduceRows(), RopeRows(), SoftmaxRows()});
  return all;
}

class OpenClBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override {
    const std::string version = VkFftVersion();
    return {"opencl", "assay", "0.1.0", version.empty() ? "" : "VkFFT " + version};
  }

  std::vector<plugin::DeviceInfo> Devices() override {
    traits_ = FindDevices();
    std::vector<plugin::DeviceInfo> devices;
    for (const Traits& t : traits_) {
      devices.push_back({t.name, t.driver, ASSAY_DEVICE_OPENCL, static_cast<int32_t>(devices.size()), t.memory_bytes,
                         t.Properties()});
    }
    return devices;
  }

  std::unique_ptr<plugin::Device> Open(uint32_t index) override { return std::make_unique<Device>(traits_.at(index)); }

 private:
  std::vector<Traits> traits_;
};

}  // namespace

std::vector<plugin::Implementation> Device::Query(const plugin::OpDesc& op) {
  return plugin::QueryDevice(Rows(), *this, tried_, op, traits_);
}

std::vector<plugin::Capability> Device::Capabilities() {
  return plugin::CapabilitiesOf(Rows(), [this](plugin::DType type) {
    return traits_.HasF64() || (type != plugin::kF64 && type != plugin::kC128);
  });
}

// The sum of fused_add_rms_norm in the place of the residual.
bool Device::TakesAliases(const plugin::OpDesc& op) {
  return op.name() == "fused_add_rms_norm" && op.outputs()[0].alias == 0 && op.LiesInPlace(1, 1);
}

std::unique_ptr<plugin::Plan> Device::CreatePlan(const plugin::OpDesc& op, const std::string& implementation) {
  tried_.RethrowFailure(implementation, op);
  return plugin::CreateFromTable(Rows(), *this, op, implementation, traits_);
}

}  // namespace opencl

ASSAY_PLUGIN(opencl::OpenClBackend)
