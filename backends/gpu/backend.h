// SPDX-License-Identifier: Apache-2.0
// The plugin of a vendor: the devices that its runtime finds, and one table of rows for all of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/gpu/device.h"

namespace gpu {

class Backend : public plugin::Backend {
 public:
  std::vector<plugin::DeviceInfo> Devices() override;
  std::unique_ptr<plugin::Device> Open(uint32_t index) override;

 protected:
  // `find` lists the usable devices, or throws plugin::Unavailable; `libraries` are the rows of a vendor's libraries,
  // which stand behind those of the kernels.
  Backend(std::vector<Traits> (*find)(), std::span<const Row> libraries);

 private:
  std::vector<Traits> (*const find_)();
  const std::vector<Row> rows_;
  std::vector<Traits> traits_;
};

}  // namespace gpu
