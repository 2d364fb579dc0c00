// SPDX-License-Identifier: Apache-2.0
// Arithmetic of device code that runs on a processor. For vendor_host.h and vendor_hip_cpu.h, behind their macros.
#pragma once

#include "backends/common/dtype.h"

namespace gpu {

GPU_DEVICE float HalfToFloat(uint16_t bits) {
  return plugin::ToFloat(plugin::F16{bits});
}
GPU_DEVICE uint16_t FloatToHalf(float value) {
  return plugin::Convert<plugin::F16>(value).bits;
}

// Without an instruction for it fma() is a slow function.
GPU_DEVICE float MultiplyAdd(float a, float b, float c) {
  return a * b + c;
}
GPU_DEVICE double MultiplyAdd(double a, double b, double c) {
  return a * b + c;
}

}  // namespace gpu
