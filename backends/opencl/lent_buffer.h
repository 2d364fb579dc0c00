// SPDX-License-Identifier: Apache-2.0
// Device memory that a plan lends to kernels and to VkFFT: a part of an allocation, with canaries before and behind it.
#pragma once

#include "backends/common/canary.h"
#include "backends/opencl/device.h"

namespace opencl {

class LentBuffer {
 public:
  LentBuffer(Device& device, plugin::Loan loan);
  cl_mem get() const { return part_.get(); }
  uint64_t bytes() const { return loan_.bytes; }
  void Check();  // plugin::CheckCanaries()

 private:
  Device& device_;
  const plugin::Loan loan_;
  const uint64_t origin_;  // of the part; the zone before it ends there
  DeviceBuffer whole_;
  Handle<cl_mem> part_;
};

}  // namespace opencl
