// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/conv_support.h"

#include <fmt/format.h>

namespace cpu {
namespace {

// The longest sum that cannot overflow int32: 2^14 is the largest |product| of two i8.
constexpr int64_t kMaxIntegerTerms = (int64_t{1} << 17) - 1;

}  // namespace

std::string ConvWhyNot(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) {
    if (s.x.dtype != plugin::kI8 || s.w.dtype != plugin::kI8) return "the only integer conv is i8-i8-i32";
    if (s.has_bias) return "an integer conv takes no bias";
    if (s.Terms() <= kMaxIntegerTerms) return "";
    return fmt::format("{} terms can overflow the int32 accumulator; at most {}", s.Terms(), kMaxIntegerTerms);
  }
  for (const auto* tensors : {&op.inputs(), &op.outputs()}) {
    for (const plugin::Tensor& tensor : *tensors) {
      if (plugin::IsFloat(tensor.dtype)) continue;
      return fmt::format("conv computes f64, f32, f16, bf16 in any combination and i8-i8-i32, not {}", op.DTypesText());
    }
  }
  return "";
}

std::string ConvWinogradWhyNot(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) return "Winograd halves integers: use direct or im2col";
  if (!s.IsWinograd()) return "Winograd takes two dimensions, k=3x3, stride=1 and dilation=1 only";
  return ConvWhyNot(op);
}

std::string ConvContract(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  return fmt::format("{};det=yes;batchinv=yes", s.IsInteger() ? "acc=i32" : s.IsF64() ? "f64" : "f32acc");
}

std::string ConvWinogradContract(const plugin::OpDesc& op) {
  return "alg=winograd<2,3>;" + ConvContract(op);
}

}  // namespace cpu
