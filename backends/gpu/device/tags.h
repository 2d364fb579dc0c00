// SPDX-License-Identifier: Apache-2.0
// Element types, as kernels are told at run time.
#pragma once

#include <cstdint>

namespace gpu {

enum class Tag : int32_t { kF64, kF32, kF16, kBF16, kI8, kI32, kI64, kU8, kE4M3, kE5M2 };

}  // namespace gpu
