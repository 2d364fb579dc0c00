// SPDX-License-Identifier: Apache-2.0
// Finding the CUDA devices of this machine, and what their matrix units keep.
#pragma once

#include <string>
#include <vector>

#include "backends/gpu/traits.h"

namespace cuda_backend {

// The usable devices. Throws plugin::Unavailable, saying what is missing, when there are none.
std::vector<gpu::Traits> FindDevices();

// The contract's accumulator for the tensor cores of a compute capability.
std::string TensorCoreAccumulator(int major, int terms);

}  // namespace cuda_backend
