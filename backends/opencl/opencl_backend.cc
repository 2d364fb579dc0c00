// SPDX-License-Identifier: Apache-2.0
// Every device of every OpenCL platform, a column each. The rows stand beside each operator's kernels.
#include "backends/common/status.h"
#include "backends/opencl/table.h"
#include "backends/opencl/vkfft.h"

namespace opencl {
namespace {

std::span<const Row> RowsOf(const plugin::OpDesc& op) {
  for (const std::span<const Row> rows :
       {MatmulRows(), ReduceRows(), SoftmaxRows(), AttentionRows(), ConvRows(), FftRows()}) {
    if (op.name() == rows.front().op) return rows;
  }
  throw plugin::Unsupported("no operator '{}' in this backend; it has: attention, conv, fft, matmul, reduce, softmax",
                            op.name());
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
  std::vector<plugin::Implementation> found;
  std::string reasons;
  for (const Row& row : RowsOf(op)) {
    const std::string reason = row.why_not(traits_, op);
    if (reason.empty()) {
      found.push_back({row.name, row.contract(traits_, op)});
    } else if (reasons.find(reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  if (found.empty()) throw plugin::Unsupported("{}", reasons);
  return found;
}

std::unique_ptr<plugin::Plan> Device::CreatePlan(const plugin::OpDesc& op, const std::string& implementation) {
  for (const Row& row : RowsOf(op)) {
    if (implementation != row.name) continue;
    const std::string reason = row.why_not(traits_, op);
    if (!reason.empty()) throw plugin::Unsupported("{}", reason);
    return row.create(*this, op);
  }
  throw plugin::Failure("no implementation '{}' of '{}'; take a name from query()", implementation, op.name());
}

}  // namespace opencl

ASSAY_PLUGIN(opencl::OpenClBackend)
