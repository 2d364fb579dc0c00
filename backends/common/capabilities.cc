// SPDX-License-Identifier: Apache-2.0
#include "backends/common/capabilities.h"

#include <string_view>

namespace plugin {

std::vector<Capability> KernelCapabilities(const KernelTypes& types, const std::string& features) {
  std::vector<Capability> all = CapabilitiesOf({{"matmul", {kI8}, features}, {"conv", {kI8}, features}});
  for (const char* op : {"matmul", "fft", "reduce", "conv", "softmax", "attention"}) {
    const bool is_fft = std::string_view(op) == "fft";
    all.push_back({op, kF32, features});
    if (types.f64) all.push_back({op, kF64, features});
    if (is_fft) all.push_back({op, kC64, features});
    if (is_fft && types.f64) all.push_back({op, kC128, features});
    if (is_fft || !types.half) continue;
    all.push_back({op, kF16, features});
    all.push_back({op, kBF16, features});
  }
  if (types.integer_reduce) all.push_back({"reduce", kI8, features});
  return all;
}

}  // namespace plugin
