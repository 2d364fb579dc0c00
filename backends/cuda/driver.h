// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver says before the runtime is asked: the runtime's own texts do not tell its absence from its age.
#pragma once

#include <string>

namespace cuda_backend {

struct DriverState {
  bool found = false;
  std::string load_error;  // of the loader, when not found
  int version = 0;         // 1000 * major + 10 * minor of the newest CUDA that it runs
  int init_code = 0;       // of cuInit; 0: success
  int devices = 0;
};

DriverState AskDriver();

// Why nothing can run, and what to do; "" when something can. `toolkit` counts as `version` does.
std::string DriverWhyNot(const DriverState& state, int toolkit);

// "13.0"
std::string CudaVersionText(int version);

}  // namespace cuda_backend
