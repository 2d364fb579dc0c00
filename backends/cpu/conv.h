// SPDX-License-Identifier: Apache-2.0
// conv for every combination of storage types.
#pragma once

#include <memory>
#include <string>

#include "backends/common/conv_spec.h"
#include "backends/common/host.h"

namespace cpu {

// Why it is not computed; "" when it is.
std::string ConvWhyNot(const plugin::OpDesc& op);
std::string ConvWinogradWhyNot(const plugin::OpDesc& op);
std::string ConvContract(const plugin::OpDesc& op);
std::string ConvWinogradContract(const plugin::OpDesc& op);

// Terms one after the other in the order (c, taps), padded ones skipped.
std::unique_ptr<plugin::Plan> CreateConvDirect(plugin::HostDevice&, const plugin::OpDesc& op);
// Patches in columns, padding as zeros, times w by the blocked matrix kernel: sums per panel of 256 terms.
std::unique_ptr<plugin::Plan> CreateConvIm2col(plugin::HostDevice&, const plugin::OpDesc& op);
// F(2 x 2, 3 x 3).
std::unique_ptr<plugin::Plan> CreateConvWinograd(plugin::HostDevice&, const plugin::OpDesc& op);

// The plan class template `PlanOf` for the accumulator that the operands ask for.
template <template <class> class PlanOf>
std::unique_ptr<plugin::Plan> MakeConvPlan(const plugin::ConvSpec& spec) {
  if (spec.IsInteger()) return std::make_unique<PlanOf<int32_t>>(spec);
  if (spec.IsF64()) return std::make_unique<PlanOf<double>>(spec);
  return std::make_unique<PlanOf<float>>(spec);
}

}  // namespace cpu
