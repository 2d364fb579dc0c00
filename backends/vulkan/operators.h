// SPDX-License-Identifier: Apache-2.0
// The table of what this backend offers: one row per implementation. Each operator's rows stand in its own file.
#pragma once

#include <cstdint>
#include <span>

#include "backends/common/table.h"
#include "backends/vulkan/contract.h"
#include "backends/vulkan/facts.h"
#include "backends/vulkan/recipe.h"

namespace vulkan {
using Row = plugin::BasicRow<Recipe(const Facts&, const plugin::OpDesc&), Facts>;

std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();
std::span<const Row> LineRows();
std::span<const Row> PointRows();
std::span<const Row> RopeRows();
std::span<const Row> PoolRows();
std::span<const Row> CodeRows();

// Loop nests as the shaders read them (shaders/axes.glsl).
inline constexpr size_t kMaxAxes = 8;

struct ShaderAxis {
  uint32_t size = 1, in_stride = 0, out_stride = 0, unused = 0;
};

// Whether work is done before a driver has compiled a kernel for its very form: one tile of rows serves such cases.
inline bool IsSmall(double multiply_adds) {
  constexpr double kWorthCompiling = 1 << 19;
  return multiply_adds < kWorthCompiling;
}
inline constexpr uint32_t kSmallRows = 4;

// The workgroup where invocations have nothing in common: one size, so that cases of all sizes share a kernel.
inline constexpr uint32_t kElementLanes = 128;

// The workgroup for a row of `count` elements, a power of two: the same for every row of that length. Every device runs
// 128 lanes.
inline uint32_t LanesFor(const Facts& facts, int64_t count) {
  if (count >= 2048) return facts.limits.maxComputeWorkGroupInvocations >= 256 ? 256 : 128;
  return count > 32 ? 64 : 32;
}

}  // namespace vulkan
