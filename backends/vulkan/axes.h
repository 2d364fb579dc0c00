// SPDX-License-Identifier: Apache-2.0
// Loop nests as the shaders read them (shaders/axes.glsl).
#pragma once

#include <cstdint>

#include "backends/vulkan/facts.h"

namespace vulkan {

inline constexpr size_t kMaxAxes = 8;

struct ShaderAxis {
  uint32_t size = 1, in_stride = 0, out_stride = 0, unused = 0;
};

// The workgroup for a row of `count` elements, a power of two: the same for every row of that length. Every device runs
// 128 lanes.
inline uint32_t LanesFor(const Facts& facts, int64_t count) {
  if (count >= 2048) return facts.limits.maxComputeWorkGroupInvocations >= 256 ? 256 : 128;
  return count > 32 ? 64 : 32;
}

}  // namespace vulkan
