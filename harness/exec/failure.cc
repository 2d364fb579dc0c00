// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/failure.h"

#include <iterator>

#include "backends/abi/assay_backend.h"

namespace assay {
namespace {

constexpr bool IsInOrder() {
  for (size_t k = 0; k < std::size(kFailureRules); ++k) {
    if (kFailureRules[k].kind != static_cast<FailureKind>(k)) return false;
  }
  return std::size(kFailureRules) == static_cast<size_t>(FailureKind::kHost) + 1;
}
static_assert(IsInOrder());

}  // namespace

FailureKind FailureKindOf(int64_t status) {
  switch (status) {
    case ASSAY_UNSUPPORTED:
      return FailureKind::kUnsupported;
    case ASSAY_UNAVAILABLE:
      return FailureKind::kUnavailable;
    case kNoPluginStatus:
      return FailureKind::kNoPlugin;
    case ASSAY_OUT_OF_MEMORY:
      return FailureKind::kOutOfMemory;
    case ASSAY_DEVICE_LOST:
      return FailureKind::kDeviceLost;
    case ASSAY_MEMORY_FAULT:
      return FailureKind::kMemoryFault;
    default:
      return FailureKind::kError;
  }
}

}  // namespace assay
