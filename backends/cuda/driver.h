// SPDX-License-Identifier: Apache-2.0
// State of NVIDIA's driver, asked before the runtime: the runtime's texts do not distinguish an absent driver from an
// old one.
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
