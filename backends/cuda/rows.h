// SPDX-License-Identifier: Apache-2.0
// The rows of NVIDIA's libraries. A library that cannot be loaded is the reason against its rows.
#pragma once

#include <span>

#include "backends/gpu/device.h"

namespace cuda_backend {

std::span<const gpu::Row> CublasLtRows();
std::span<const gpu::Row> CubRows();
std::span<const gpu::Row> CudnnConvRows();
std::span<const gpu::Row> CudnnAttentionRows();
std::span<const gpu::Row> CufftRows();

}  // namespace cuda_backend
