// SPDX-License-Identifier: Apache-2.0
// Which matmul descriptions the cpu backend takes, and the arithmetic that it declares for them.
#pragma once

#include <string>

#include "backends/common/matmul_spec.h"

namespace cpu {

// Why it is not computed; "" when it is.
std::string MatmulWhyNot(const plugin::OpDesc& op);
std::string MatmulContract(const plugin::OpDesc& op);

}  // namespace cpu
