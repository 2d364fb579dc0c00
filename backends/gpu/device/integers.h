// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of indices that host and device code share.
#pragma once

#include "backends/gpu/device/vendor.h"

namespace gpu {

GPU_FN int64_t CeilDiv(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit;
}
GPU_FN int64_t Least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
GPU_FN int64_t Most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

}  // namespace gpu
