// SPDX-License-Identifier: Apache-2.0
// The vendor's runtime by one spelling, for the files behind runtime.h alone.
#pragma once

#if defined(ASSAY_GPU_CUDA)
#include <cuda_runtime_api.h>
#define RUNTIME(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define RUNTIME(name) hip##name
#endif

namespace gpu {

using Code = RUNTIME(Error_t);
using StreamHandle = RUNTIME(Stream_t);

// Throws unless success.
void Check(Code code, const char* call);

}  // namespace gpu
