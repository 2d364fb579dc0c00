// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/failure.h"

#include "backends/abi/assay_backend.h"

namespace assay {

std::string_view Name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kUnsupported:
      return "unsupported";
    case FailureKind::kUnavailable:
      return "unavailable";
    case FailureKind::kNoPlugin:
      return "no_plugin";
    case FailureKind::kError:
      return "error";
    case FailureKind::kOutOfMemory:
      return "out_of_memory";
    case FailureKind::kDeviceLost:
      return "device_lost";
    case FailureKind::kMemoryFault:
      return "memory_fault";
    case FailureKind::kCrash:
      return "crash";
    case FailureKind::kTimeout:
      return "timeout";
    case FailureKind::kProtocol:
      return "protocol";
    case FailureKind::kInterrupted:
      return "interrupted";
    case FailureKind::kHost:
      return "host";
  }
  return "unknown";
}

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
