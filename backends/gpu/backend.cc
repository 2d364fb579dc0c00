// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/backend.h"

namespace gpu {

Backend::Backend(std::vector<Traits> (*find)(), std::span<const Row> libraries)
    : find_(find),
      rows_(plugin::JoinRows<Row>({AttentionRows(), ConvRows(), FftRows(), LineRows(), MatmulRows(), OperandRows(),
                                   PointRows(), ReduceRows(), SoftmaxRows(), libraries})) {}

std::vector<plugin::DeviceInfo> Backend::Devices() {
  traits_ = find_();
  std::vector<plugin::DeviceInfo> devices;
  for (const Traits& t : traits_) {
    devices.push_back({t.name, t.driver, t.device_type, t.index, t.memory_bytes, t.Properties()});
  }
  return devices;
}

std::unique_ptr<plugin::Device> Backend::Open(uint32_t index) {
  return std::make_unique<Device>(traits_.at(index), rows_);
}

}  // namespace gpu
