// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace cuda_backend {
namespace {

constexpr int kNoDevice = 100;

template <class Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Explains how to repair a failure of cuInit.
std::string InitAdvice(int code) {
  switch (code) {
    case 46:
      return "the device is in use by another process in exclusive mode, or unavailable";
    case 802:
      return "the system is not ready: is nvidia-fabricmanager running?";
    case 803:
      return "libcuda and the kernel module are of different versions: reboot, or reload the module";
    case 804:
      return "the forward compatibility package does not support this device: remove it";
    case 999:
      return "unknown: is the module nvidia_uvm loaded (nvidia-modprobe -u)?";
    default:
      return "see nvidia-smi and the kernel's log";
  }
}

}  // namespace

DriverState AskDriver() {
  DriverState state;
  // Never closed: the runtime uses it too.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    state.load_error = error == nullptr ? "no reason given" : error;
    return state;
  }
  auto* init = Find<int(unsigned)>(library, "cuInit");
  auto* version = Find<int(int*)>(library, "cuDriverGetVersion");
  auto* count = Find<int(int*)>(library, "cuDeviceGetCount");
  if (init == nullptr || version == nullptr || count == nullptr) {
    state.load_error = "libcuda.so.1 lacks cuInit, cuDriverGetVersion or cuDeviceGetCount";
    return state;
  }
  state.found = true;
  (void)version(&state.version);
  state.init_code = init(0);
  if (state.init_code == 0 && count(&state.devices) != 0) state.devices = 0;
  return state;
}

std::string CudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string DriverWhyNot(const DriverState& state, int toolkit) {
  if (!state.found) {
    return fmt::format("no NVIDIA driver ({}): install it; in a container, start that with the host's GPUs",
                       state.load_error);
  }
  // A driver runs every minor version of its own major one.
  if (state.version / 1000 < toolkit / 1000) {
    return fmt::format("the NVIDIA driver runs CUDA up to {}, this plugin was built with {}: install a newer driver",
                       CudaVersionText(state.version), CudaVersionText(toolkit));
  }
  if (state.init_code == kNoDevice || (state.init_code == 0 && state.devices == 0)) {
    return "no NVIDIA device: check that nvidia-smi lists one and that CUDA_VISIBLE_DEVICES does not hide it";
  }
  if (state.init_code != 0) {
    return fmt::format("the NVIDIA driver cannot start (cuInit: {}): {}", state.init_code, InitAdvice(state.init_code));
  }
  return "";
}

}  // namespace cuda_backend
