// SPDX-License-Identifier: Apache-2.0
// The compiled shaders, embedded at build time from shaders/*.comp: each in one module per variant.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vulkan {

// A module's arithmetic type, and whether it stores 16-bit elements (a capability that a device may lack).
enum class Variant { kF32, kF32Store16, kF64, kI32 };

// The SPIR-V of shaders/<name>.comp. Throws Failure for a name or variant that was not built.
std::span<const uint32_t> ShaderCode(std::string_view name, Variant variant);

}  // namespace vulkan
