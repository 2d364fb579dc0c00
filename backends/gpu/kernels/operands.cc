// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/blocks.h"
#include "backends/gpu/device/items.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

template <class Kernel>
void LaunchItems(bool wide, const OperandParams& p, void* stream) {
  Launch(wide ? RunItem<Kernel, double> : RunItem<Kernel, float>, CeilDiv(p.items, kItemThreads), kItemThreads,
         static_cast<Stream>(stream), p);
}

template <class Kernel>
void LaunchBlocks(bool wide, const OperandParams& p, void* stream) {
  Launch(wide ? RunBlock<Kernel, double> : RunBlock<Kernel, float>, p.items, Kernel::kThreads,
         static_cast<Stream>(stream), p);
}

}  // namespace

void LaunchOperands(OperandKernel kernel, bool wide, const OperandParams& p, void* stream) {
  switch (kernel) {
    case OperandKernel::kRope:
      return LaunchItems<RopeKernel>(wide, p, stream);
    case OperandKernel::kQuantize:
      return LaunchItems<QuantizeKernel>(wide, p, stream);
    case OperandKernel::kDequantize:
      return LaunchItems<DequantizeKernel>(wide, p, stream);
    case OperandKernel::kRequantize:
      return LaunchItems<RequantizeKernel>(wide, p, stream);
    case OperandKernel::kGroupedGemm:
      return LaunchItems<GroupedGemmKernel>(wide, p, stream);
    case OperandKernel::kScaledMm:
      return LaunchItems<ScaledMmKernel>(wide, p, stream);
    case OperandKernel::kCumSum:
      return LaunchBlocks<CumSumKernel>(wide, p, stream);
    case OperandKernel::kCumProd:
      return LaunchBlocks<CumProdKernel>(wide, p, stream);
    case OperandKernel::kTopK:
      return LaunchBlocks<TopKKernel>(wide, p, stream);
    case OperandKernel::kSelectiveScan:
      return LaunchBlocks<SelectiveScanKernel>(wide, p, stream);
    case OperandKernel::kPagedDecode:
      return LaunchBlocks<PagedDecodeKernel>(wide, p, stream);
    case OperandKernel::kRowLoss:
      return LaunchBlocks<RowLossKernel>(wide, p, stream);
    case OperandKernel::kSumOfLosses:
      return LaunchBlocks<SumOfLossesKernel>(wide, p, stream);
  }
}

}  // namespace gpu
