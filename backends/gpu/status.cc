// SPDX-License-Identifier: Apache-2.0
// Maps the runtimes' error numbers to the harness's statuses, without calling a runtime.
#include "backends/gpu/runtime.h"

namespace gpu {

assay_status StatusOf(int code) {
  switch (code) {
    case 0:
      return ASSAY_OK;
    case 2:  // MemoryAllocation
      return ASSAY_OUT_OF_MEMORY;
    case 35:   // InsufficientDriver
    case 100:  // NoDevice
    case 101:  // InvalidDevice
    case 209:  // NoKernelImageForDevice, NoBinaryForGpu
    case 222:  // UnsupportedPtxVersion
    case 803:  // SystemDriverMismatch
    case 804:  // CompatNotSupportedOnDevice
      return ASSAY_UNAVAILABLE;
    case 46:   // DevicesUnavailable
    case 53:   // PriorLaunchFailure
    case 214:  // ECCUncorrectable
    case 220:  // NvlinkUncorrectable
    case 700:  // IllegalAddress
    case 702:  // LaunchTimeout
    case 709:  // ContextIsDestroyed
    case 710:  // Assert
    case 714:  // HardwareStackError
    case 715:  // IllegalInstruction
    case 716:  // MisalignedAddress
    case 717:  // InvalidAddressSpace
    case 718:  // InvalidPc
    case 719:  // LaunchFailure
      return ASSAY_DEVICE_LOST;
    default:
      return ASSAY_ERROR;
  }
}

std::string AdviceFor(int code) {
  switch (StatusOf(code)) {
    case ASSAY_OUT_OF_MEMORY:
      return "free memory on the device or choose a smaller case";
    case ASSAY_DEVICE_LOST:
      return "the process cannot use the device any more: the next case gets a new one";
    case ASSAY_UNAVAILABLE:
      if (code == 209 || code == 222) {
        return "this plugin has no code for the device's architecture: build it with that one in "
               "ASSAY_CUDA_ARCHITECTURES or ASSAY_HIP_ARCHITECTURES";
      }
      return code == 35 ? "install a driver that is as new as the toolkit" : "";
    default:
      return "";
  }
}

}  // namespace gpu
