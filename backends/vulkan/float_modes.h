// SPDX-License-Identifier: Apache-2.0
// Asks a device for the arithmetic that it offers: GLSL cannot say rounding mode, subnormals and special values, so
// their execution modes (SPV_KHR_float_controls) are put into the compiled module.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/vulkan/facts.h"

namespace vulkan {

// `code` with the execution modes of `controls` for floats of `bits` bits.
std::vector<uint32_t> WithFloatModes(std::span<const uint32_t> code, const FloatControls& controls, uint32_t bits);

}  // namespace vulkan
