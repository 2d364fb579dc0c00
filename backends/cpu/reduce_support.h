// SPDX-License-Identifier: Apache-2.0
// Which reduce descriptions the cpu backend takes, and the arithmetic that it declares for them.
#pragma once

#include <string>

#include "backends/common/reduce_spec.h"

namespace cpu {

// Why it is not computed; "" when it is.
std::string ReduceWhyNot(const plugin::OpDesc& op);
// ReduceWhyNot for implementations that reorder a sum; argmax and argmin have no sum.
std::string FoldWhyNot(const plugin::OpDesc& op);
std::string ReduceContract(const plugin::OpDesc& op);

}  // namespace cpu
