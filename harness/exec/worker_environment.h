// SPDX-License-Identifier: Apache-2.0
// The one variable that a worker sets for the libraries of its plugin.
#pragma once

#include <cstdlib>

namespace assay {

// GCC's OpenMP, which a plugin may bring, has threads wait for milliseconds of processor time before they sleep, after
// each parallel region, while workers of other backends share the processors. A tenth of a millisecond still bridges
// what lies between repetitions.
inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";
inline constexpr const char* kWorkerSpins = "10000";

// Whether workers set it: what the user says about it stands.
inline bool WorkersSetSpins() {
  return std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv(kSpinVariable) == nullptr;
}

}  // namespace assay
