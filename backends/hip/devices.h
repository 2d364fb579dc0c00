// SPDX-License-Identifier: Apache-2.0
// Finding the devices of HIP, or of its stand-in on processors.
#pragma once

#include <string>
#include <vector>

#include "backends/gpu/traits.h"

namespace hip_backend {

// The backend's name: "hip", or "hip-cpu".
extern const char* const kBackendName;
std::string LibraryVersion();

// The usable devices. Throws plugin::Unavailable, saying what to check, when there are none.
std::vector<gpu::Traits> FindDevices();

}  // namespace hip_backend
