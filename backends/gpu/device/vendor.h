// SPDX-License-Identifier: Apache-2.0
// The few things of device code that compilers spell differently. Kernels take one struct of parameters by value; a
// grid has one dimension, so that no limit of the other two counts.
//   GPU_FN        a function of host and device     GPU_DEVICE  of the device alone
//   GPU_KERNEL    a kernel                          GPU_SHARED  a variable of the block
//   GPU_CALL      a device function that is called, where a copy at each of many places would be long
//   GPU_CONSTANT  of a kernel's parameters, whose addresses such a function is given
#pragma once

#include <cstdint>

#if defined(ASSAY_GPU_CUDA) && defined(__CUDACC__)
#include "backends/gpu/device/vendor_cuda.h"
#elif defined(ASSAY_GPU_HIP) && defined(__HIPCC__)
#include "backends/gpu/device/vendor_hip.h"
#elif defined(ASSAY_GPU_HIP_CPU)
#include "backends/gpu/device/vendor_hip_cpu.h"
#elif defined(ASSAY_GPU_HOST)
#include "backends/gpu/device/vendor_host.h"
#else
// The host's side of a plugin, and unit tests of index arithmetic.
#define GPU_FN inline
#endif
