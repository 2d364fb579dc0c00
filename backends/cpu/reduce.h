// SPDX-License-Identifier: Apache-2.0
// reduce for f64, f32, f16, bf16 and integers. The implementations differ in the order of the sum (or product, or
// comparison).
#pragma once

#include <memory>
#include <string>

#include "backends/common/host.h"

namespace cpu {

enum class SumOrder { kSequential, kPairwise, kStrided };

// Why it is not computed; "" when it is.
std::string ReduceWhyNot(const plugin::OpDesc& op);
// ReduceWhyNot for implementations that reorder a sum; argmax and argmin have no sum.
std::string FoldWhyNot(const plugin::OpDesc& op);
std::string ReduceContract(const plugin::OpDesc& op);

std::unique_ptr<plugin::Plan> CreateReducePlan(const plugin::OpDesc& op, SumOrder order);

template <SumOrder kOrder>
std::unique_ptr<plugin::Plan> CreateReduce(plugin::HostDevice&, const plugin::OpDesc& op) {
  return CreateReducePlan(op, kOrder);
}

}  // namespace cpu
