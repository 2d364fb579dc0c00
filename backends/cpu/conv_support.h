// SPDX-License-Identifier: Apache-2.0
// Which conv descriptions the cpu backend takes, and the arithmetic that it declares for them.
#pragma once

#include <string>

#include "backends/common/conv_spec.h"

namespace cpu {

// Why it is not computed; "" when it is.
std::string ConvWhyNot(const plugin::OpDesc& op);
std::string ConvWinogradWhyNot(const plugin::OpDesc& op);
std::string ConvContract(const plugin::OpDesc& op);
std::string ConvWinogradContract(const plugin::OpDesc& op);

}  // namespace cpu
