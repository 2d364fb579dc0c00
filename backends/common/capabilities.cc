// SPDX-License-Identifier: Apache-2.0
#include "backends/common/capabilities.h"

namespace plugin {

std::vector<Capability> KernelCapabilities(const KernelTypes& types, const std::string& features) {
  std::vector<Capability> all = CapabilitiesOf({{"matmul", {kF32, kF16, kBF16, kI8}, features},
                                                {"fft", {kF32, kC64}, features},
                                                {"reduce", {kF32, kF16, kBF16}, features},
                                                {"conv", {kF32, kF16, kBF16, kI8}, features},
                                                {"softmax", {kF32, kF16, kBF16}, features},
                                                {"attention", {kF32, kF16, kBF16}, features}});
  if (types.integer_reduce) all.push_back({"reduce", kI8, features});
  if (!types.f64) return all;
  for (const char* op : {"matmul", "fft", "reduce", "conv", "softmax", "attention"})
    all.push_back({op, kF64, features});
  all.push_back({"fft", kC128, features});
  return all;
}

}  // namespace plugin
