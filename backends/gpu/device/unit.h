// SPDX-License-Identifier: Apache-2.0
// The matrix unit of the architecture being compiled: sum += a b for 16 x 16 x 16 tiles in shared memory, held by the
// lanes of a wave together. Every lane of the wave calls.
//   Unit<T>::A a = Unit<T>::LoadA(tile, pitch, lane)              tile[row * pitch + k]
//   Unit<T>::B b = Unit<T>::LoadB<kAlongK>(tile, pitch, lane)     tile[column * pitch + k], or tile[k * pitch + column]
//   Unit<T>::MultiplyAdd(a, b, sum)
//   Unit<T>::AcrossRow(x, combine)   over the lanes that share a row
// Tiles begin at multiples of 16 bytes, and so does every row.
#pragma once

#include "backends/gpu/device/elements.h"
#include "backends/gpu/device/unit_layout.h"

#if defined(ASSAY_GPU_CUDA)
#include "backends/gpu/device/unit_nvidia.h"
#elif defined(ASSAY_GPU_HIP)
#include "backends/gpu/device/unit_amd.h"
#else
#include "backends/gpu/device/unit_plain.h"
#endif
