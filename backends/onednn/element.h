// SPDX-License-Identifier: Apache-2.0
// One element of an f32 or bf16 tensor on the host.
#pragma once

#include <cstring>

#include "backends/common/dtype.h"

namespace onednn {

inline float LoadElement(plugin::DType dtype, const std::byte* tensor, int64_t offset) {
  if (dtype == plugin::kF32) {
    float value = 0;
    std::memcpy(&value, tensor + offset * 4, 4);
    return value;
  }
  plugin::BF16 value;
  std::memcpy(&value, tensor + offset * 2, 2);
  return plugin::ToFloat(value);
}

inline void StoreElement(plugin::DType dtype, std::byte* tensor, int64_t offset, float value) {
  if (dtype == plugin::kF32) {
    std::memcpy(tensor + offset * 4, &value, 4);
    return;
  }
  const plugin::BF16 narrow = plugin::RoundToBF16(value);
  std::memcpy(tensor + offset * 2, &narrow, 2);
}

}  // namespace onednn
