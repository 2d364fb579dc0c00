// SPDX-License-Identifier: Apache-2.0
// Limits of an OpenCL device, and the arithmetic that its specification or its floating-point configuration promises.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace opencl {

struct Traits {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name, driver, platform_name, version;
  cl_device_fp_config f32 = 0, f64 = 0;  // CL_FP_* bits; f64 is 0 where there is no double precision
  uint64_t memory_bytes = 0, max_alloc_bytes = 0, local_bytes = 0, cache_bytes = 0;
  uint64_t base_align_bytes = 1;  // what the origin of a sub-buffer has to be a multiple of
  size_t max_group = 0;
  uint32_t units = 0;
  bool is_cpu = false;

  // Largest operand or workspace: its allocation has guards or canaries besides.
  uint64_t MostBytes() const {
    constexpr uint64_t kAround = uint64_t{1} << 18;
    return max_alloc_bytes - std::min(max_alloc_bytes, kAround + base_align_bytes);
  }
  bool HasF64() const { return f64 != 0; }
  bool KeepsSubnormals(bool wide) const { return ((wide ? f64 : f32) & CL_FP_DENORM) != 0; }
  bool RoundsToNearest(bool wide) const { return ((wide ? f64 : f32) & CL_FP_ROUND_TO_NEAREST) != 0; }
  bool HasFma(bool wide) const { return ((wide ? f64 : f32) & CL_FP_FMA) != 0; }
  // f32 division and square root, when programs are built with kRoundedDivideOption.
  bool RoundsDivideAndSqrt() const { return (f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0; }
  // "subnormals=kept;..." for people and for environment.json.
  std::string Properties() const;
};

inline constexpr const char* kRoundedDivideOption = "-cl-fp32-correctly-rounded-divide-sqrt";

// The usable devices of all platforms, in the platforms' order. Throws plugin::Unavailable, naming what to install or
// why each device was left out, when there are none.
std::vector<Traits> FindDevices();

}  // namespace opencl
