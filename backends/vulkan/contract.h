// SPDX-License-Identifier: Apache-2.0
// Contracts that an implementation may declare on a device. Sources: "Precision of core SPIR-V instructions" of the
// Vulkan specification for the device's functions, shaders/functions.glsl for this backend's own.
#pragma once

#include <string>

#include "backends/common/op_desc.h"
#include "backends/vulkan/facts.h"

namespace vulkan {

// Units in the last place of the type, at most.
inline constexpr double kDivisionUlp = 2.5;
inline constexpr double kSquareRootUlp = 4.5;  // 1 / inversesqrt: 2 for it, 2.5 for the division
// exp: 3 + 2 |x|. Arguments are differences to a maximum; below -104 a result in f32 is zero whatever is returned.
inline constexpr double kDeviceExpUlp = 3 + 2 * 104;
// Error of this backend's own exp and log, which are made of additions and products that Vulkan rounds correctly. It
// also covers a division next to them (kDivisionUlp is larger than either).
inline constexpr double kOwnFunctionUlp = 2;
inline constexpr double kOwnTanhUlp = 6;
inline constexpr double kOwnErfUlp = 8;
inline constexpr double kOwnTurnUlp = 4;  // sin and cos

struct Declaration {
  double math = 0;          // ulp; 0: no function is called
  const char* fields = "";  // further fields, each with its semicolon at the end
  bool selects = false;     // elements are compared as integers: nothing is rounded or flushed
};

std::string Declare(const Facts& facts, const plugin::OpDesc& op, const Declaration& declaration);

// Why the device cannot compute in these types; "" when it can. Checks f64, 16-bit stores and the sizes of operands.
std::string DeviceWhyNot(const Facts& facts, const plugin::OpDesc& op);

// Why an implementation that is slow on a device of the host's own cores is not offered for so much work where others
// are; "" when it is. ASSAY_VULKAN_ALL=1 asks for all of them.
std::string SlowWhyNot(const Facts& facts, double multiply_adds, double most);

// "matmul computes ..., not i8-f32" when the types are no combination of floats of up to 32 bits or of f64 alone; "".
std::string FloatTypesWhyNot(const plugin::OpDesc& op);

}  // namespace vulkan
