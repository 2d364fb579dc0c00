// SPDX-License-Identifier: Apache-2.0
// matmul for every combination of storage types. The implementations differ in the order in which k is summed.
#pragma once

#include <memory>
#include <string>

#include "backends/common/host.h"

namespace cpu {

enum class KOrder {
  kSequential,  // one sum over ascending k
  kPanels,      // a sum per panel of 256, the panels added in order
  kSplit,       // four sums over quarters of k, added as (0+1)+(2+3)
};

// Why it is not computed; "" when it is.
std::string MatmulWhyNot(const plugin::OpDesc& op);
std::string MatmulContract(const plugin::OpDesc& op);

std::unique_ptr<plugin::Plan> CreateMatmulPlan(const plugin::OpDesc& op, KOrder order);

template <KOrder kOrder>
std::unique_ptr<plugin::Plan> CreateMatmul(plugin::HostDevice&, const plugin::OpDesc& op) {
  return CreateMatmulPlan(op, kOrder);
}

}  // namespace cpu
