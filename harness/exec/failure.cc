// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/failure.h"

#include "backends/abi/assay_backend.h"

namespace assay {

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnsupported:
      return "unsupported";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kNoPlugin:
      return "no_plugin";
    case Outcome::kError:
      return "error";
    case Outcome::kOutOfMemory:
      return "out_of_memory";
    case Outcome::kDeviceLost:
      return "device_lost";
    case Outcome::kMemoryFault:
      return "memory_fault";
    case Outcome::kCrash:
      return "crash";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kProtocol:
      return "protocol";
    case Outcome::kInterrupted:
      return "interrupted";
    case Outcome::kHost:
      return "host";
  }
  return "unknown";
}

Outcome OutcomeOf(int64_t status) {
  switch (status) {
    case ASSAY_UNSUPPORTED:
      return Outcome::kUnsupported;
    case ASSAY_UNAVAILABLE:
      return Outcome::kUnavailable;
    case kNoPluginStatus:
      return Outcome::kNoPlugin;
    case ASSAY_OUT_OF_MEMORY:
      return Outcome::kOutOfMemory;
    case ASSAY_DEVICE_LOST:
      return Outcome::kDeviceLost;
    case ASSAY_MEMORY_FAULT:
      return Outcome::kMemoryFault;
    default:
      return Outcome::kError;
  }
}

}  // namespace assay
