// SPDX-License-Identifier: Apache-2.0
// VkFFT's OpenCL backend behind one function; the header of some 30,000 lines stays in vkfft.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/opencl/kernel_plan.h"

namespace opencl {

// "1.2.26"; "" when the plugin was built without VkFFT.
std::string VkFftVersion();

// Primes up to this have butterflies; a length with a larger one goes through Bluestein's algorithm.
inline constexpr int64_t kVkFftLargestRadix = 13;

struct FftField {
  cl_mem memory = nullptr;
  std::array<int64_t, 3> n{1, 1, 1};  // row-major, the last extent is contiguous
  int64_t batch = 1;
  bool wide = false, inverse = false;
};

// A step that transforms the field in place, unscaled. Throws Unsupported when VkFFT refuses.
std::unique_ptr<Step> MakeVkFftStep(Device& device, const FftField& field);

}  // namespace opencl
