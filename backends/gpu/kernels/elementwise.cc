// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/elementwise.h"

#include "backends/gpu/kernels.h"

namespace gpu {

void LaunchPoints(bool wide, const PointParams& p, void* stream) {
  const int64_t blocks = (p.rows * p.size + kReduceThreads - 1) / kReduceThreads;
  Launch(wide ? RunPoints<double> : RunPoints<float>, blocks, kReduceThreads, static_cast<Stream>(stream), p);
}

}  // namespace gpu
