// SPDX-License-Identifier: Apache-2.0
// A device's identity, limits and specified arithmetic. Vendors fill it in (backends/cuda, backends/hip).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gpu {

struct Traits {
  int index = 0;
  int32_t device_type = 0;                 // ASSAY_DEVICE_*
  std::string name, driver, architecture;  // "sm_90", "gfx90a"
  int major = 0, minor = 0;
  uint64_t memory_bytes = 0, cache_bytes = 0, shared_bytes = 0;  // shared: of a block
  int units = 1;                                                 // multiprocessors
  int64_t grid_threads = INT64_MAX;                              // that a launch can have; blocks: kMostBlocks
  bool has_unit = false;                                         // matrix units that take f16 and bf16
  bool has_fp8 = false;                                          // and fp8
  int lanes = 0;                                                 // of a wave, as kernels on matrix units see it
  int waves = 0;                                                 // of a block that makes a product on them
  std::string unit_accumulator = "acc=f32";                      // of them, as a contract says it
  bool atomics_flush = false;                                    // those that add f32 lose subnormals
  bool device_clock = true;                                      // events tell the device's own time
  double exp_ulp = 2, tanh_ulp = 2, erf_ulp = 2;                 // exp_ulp: of log too; in the vendor's table

  int ProductThreads() const { return waves * lanes; }
  // Matrix units whose kernels are compiled with this layout (device/unit_layout.h), which says how they are launched.
  template <class Layout>
  void SetUnit(std::string accumulator) {
    has_unit = true, unit_accumulator = std::move(accumulator), lanes = Layout::kLanes, waves = Layout::kWaves;
  }
  // "architecture=sm_90;..." for people and for environment.json.
  std::string Properties() const;
};

// The devices that the plugin has code for. Where there are none it throws plugin::Unavailable: what it is built for
// ("sm_80 and later"), what was found instead, and the CMake variable that says for which architectures to build.
std::vector<Traits> KeepBuiltFor(std::vector<Traits> found, const std::function<bool(const Traits&)>& is_built_for,
                                 const std::string& built_for, const char* variable);

}  // namespace gpu
