// SPDX-License-Identifier: Apache-2.0
// Loop nests as the shaders read them (shaders/axes.glsl).
#pragma once

#include <algorithm>
#include <cstdint>

namespace vulkan {

inline constexpr size_t kMaxAxes = 8;

struct ShaderAxis {
  uint32_t size = 1, in_stride = 0, out_stride = 0, unused = 0;
};

// The workgroup for a row of `count` elements: the same for every row of that length.
inline uint32_t LanesFor(int64_t count) {
  return count >= 2048 ? 256 : count > 32 ? 64 : 32;
}

}  // namespace vulkan
