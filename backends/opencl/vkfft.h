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

// Transforms that the field has room for: `batch`, rounded up where a work-group takes several short ones. How many
// that are depends on n alone, so that one compiled kernel serves every batch.
int64_t FieldBatch(const std::array<int64_t, 3>& n, int64_t batch);

struct FftField {
  cl_mem memory = nullptr;
  std::array<int64_t, 3> n{1, 1, 1};  // row-major, the last extent is contiguous
  int64_t batch = 1;                  // memory holds FieldBatch(n, batch)
  bool wide = false;
};

// A step that transforms the field in place, forwards and unscaled. Throws Unsupported when VkFFT refuses. The device
// keeps the transforms of the last few calls.
std::unique_ptr<Step> MakeVkFftStep(Device& device, const FftField& field);

}  // namespace opencl
