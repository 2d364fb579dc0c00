// SPDX-License-Identifier: Apache-2.0
// CUB behind two functions; its headers stay in cub_kernels.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/gpu/device/reduce_params.h"

namespace cuda_backend {

// `outputs` dense rows of `count` elements; sums in the accumulator's type.
struct CubReduction {
  gpu::Tag type{};
  gpu::Fold fold{};
  int64_t outputs = 1, count = 0;
  const void* x = nullptr;
  void *sums = nullptr, *temporary = nullptr;
  size_t temporary_bytes = 0;
};

size_t CubTemporaryBytes(const CubReduction& reduction);
// "", or the runtime's text of what went wrong.
std::string LaunchCub(const CubReduction& reduction, void* stream);

}  // namespace cuda_backend
