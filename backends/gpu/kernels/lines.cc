// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/norms.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

template <class Kernel>
void LaunchLine(bool wide, const LineParams& p, void* stream) {
  Launch(wide ? RunLine<Kernel, double> : RunLine<Kernel, float>, p.lines, kReduceThreads, static_cast<Stream>(stream),
         p);
}

}  // namespace

void LaunchLines(LineKernel kernel, bool wide, const LineParams& p, void* stream) {
  switch (kernel) {
    case LineKernel::kLayerNorm:
      return LaunchLine<LayerNormKernel>(wide, p, stream);
    case LineKernel::kRmsNorm:
      return LaunchLine<RmsNormKernel>(wide, p, stream);
    case LineKernel::kFusedAddRmsNorm:
      return LaunchLine<FusedAddRmsNormKernel>(wide, p, stream);
    case LineKernel::kSoftmaxBackward:
      return LaunchLine<SoftmaxBackwardKernel>(wide, p, stream);
    case LineKernel::kLogSoftmaxBackward:
      return LaunchLine<LogSoftmaxBackwardKernel>(wide, p, stream);
  }
}

}  // namespace gpu
