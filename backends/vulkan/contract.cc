// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/contract.h"

#include <cstdlib>
#include <string_view>

#include "backends/vulkan/recipe.h"

namespace vulkan {
namespace {

// 16-bit operands are taken apart and rounded as integers: of f16 no subnormal can be lost. Those of bf16 are
// subnormals of f32.
bool MayFlush(const Facts& facts, const plugin::OpDesc& op, bool wide) {
  if (facts.Controls(wide).keep_subnormals) return false;
  return !op.AllTypes([](plugin::DType d) { return d == plugin::kF16 || d == plugin::kI8; });
}

}  // namespace

std::string Declare(const Facts& facts, const plugin::OpDesc& op, const Declaration& declaration) {
  const Variant variant = VariantFor(op);
  if (variant == Variant::kI32) return fmt::format("acc=i32;{}det=yes;batchinv=yes", declaration.fields);
  const bool wide = variant == Variant::kF64;
  const bool nearest = facts.Controls(wide).round_to_nearest;
  std::string text = wide ? "f64;" : "f32acc;";
  if (!declaration.selects) {
    // Without the control Vulkan's basic operations may truncate; a narrow output is rounded by this backend itself.
    if (!nearest && variant != Variant::kF32Store16) text += "out=any;";
    if (MayFlush(facts, op, wide)) text += "ftz=all;";
    if (declaration.math > 0) text += fmt::format("math={:g};", declaration.math * (nearest ? 1 : 2));
  }
  return text + declaration.fields + "det=yes;batchinv=yes";
}

std::string DeviceWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const Variant variant = VariantFor(op);
  if (variant == Variant::kF64 && !facts.f64) return fmt::format("{} has no f64 (shaderFloat64)", facts.name);
  if (variant == Variant::kF32Store16 && !facts.store16) {
    return fmt::format("{} stores no 16-bit elements (VK_KHR_16bit_storage)", facts.name);
  }
  const uint64_t most = facts.MaxBinding();
  for (const auto* tensors : {&op.inputs(), &op.outputs()}) {
    for (const plugin::Tensor& tensor : *tensors) {
      const plugin::Tensor::Extent extent = tensor.ByteExtent();
      const auto bytes = static_cast<uint64_t>(extent.last - extent.first);
      if (bytes + facts.limits.minStorageBufferOffsetAlignment + 4 <= most) continue;
      return fmt::format("operand '{}' spans {} bytes, {} binds at most {} (maxStorageBufferRange)", tensor.name, bytes,
                         facts.name, most);
    }
  }
  return "";
}

std::string SlowWhyNot(const Facts& facts, double multiply_adds, double most) {
  const char* all = std::getenv("ASSAY_VULKAN_ALL");
  const bool wanted = all != nullptr && std::string_view(all) == "1";
  const bool alone = !facts.SubgroupsWhyNot().empty();
  if (wanted || alone || facts.type != VK_PHYSICAL_DEVICE_TYPE_CPU || multiply_adds <= most) return "";
  return fmt::format("slow on {}, which is a CPU: offered up to {:.0f} multiply-adds (ASSAY_VULKAN_ALL=1 for all)",
                     facts.name, most);
}

std::string FloatTypesWhyNot(const plugin::OpDesc& op) {
  if (op.AllTypes([](plugin::DType d) { return d == plugin::kF64; })) return "";
  if (op.AllTypes([](plugin::DType d) { return plugin::IsFloat(d) && d != plugin::kF64; })) return "";
  return fmt::format("{} computes f32, f16 and bf16 in any combination, or f64 alone, not {}", op.name(),
                     op.DTypesText());
}

}  // namespace vulkan
