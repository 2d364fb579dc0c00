// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/recipe.h"

#include <algorithm>

namespace vulkan {

uint32_t TypeCode(plugin::DType dtype) {
  constexpr plugin::DType kCodes[] = {plugin::kF32, plugin::kF16, plugin::kBF16, plugin::kF64,
                                      plugin::kI8,  plugin::kI32, plugin::kI64,  plugin::kU8};
  const auto found = std::find(std::begin(kCodes), std::end(kCodes), dtype);
  return static_cast<uint32_t>(found - std::begin(kCodes));
}

Variant VariantFor(const plugin::OpDesc& op) {
  if (op.outputs()[0].dtype == plugin::kC128) return Variant::kF64;
  const plugin::Tensor& x = op.inputs()[0];
  const plugin::DType out = op.outputs()[0].dtype;
  if (x.dtype == plugin::kF64 || x.dtype == plugin::kC128) return Variant::kF64;
  if (x.dtype == plugin::kI8 && out == plugin::kI32) return Variant::kI32;
  return out == plugin::kF16 || out == plugin::kBF16 ? Variant::kF32Store16 : Variant::kF32;
}

std::vector<uint32_t> Constants(uint32_t group_size, std::initializer_list<plugin::DType> types,
                                std::initializer_list<uint32_t> more) {
  std::vector<uint32_t> constants{group_size};
  for (plugin::DType type : types) constants.push_back(TypeCode(type));
  constants.resize(kStorageBindings + 1, 0);
  constants.insert(constants.end(), more);
  return constants;
}

}  // namespace vulkan
